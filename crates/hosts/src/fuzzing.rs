//! What the fuzz targets call: takes any bytes and must come back.

use anyhook_model::{Caller, Effect, Spelling, Verdict};
use jiff::Timestamp;

use crate::AGENTS;

/// Reads bytes as a payload of every agent, and words answers to what comes of them.
pub fn payload(data: &[u8]) {
    let caller = Caller { work_dir: "/".into(), project_dir: None, now: Timestamp::UNIX_EPOCH };
    let deny = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
    for agent in AGENTS {
        let Ok(events) = agent.decode(data, &caller) else { continue };
        for event in &events {
            let _ = event.to_json(Spelling::Canonical);
            let silent = agent.encode(event, &Verdict::default());
            assert!(silent.stdout.is_empty() && silent.exit_code == 0, "no opinion is silence");
            let reply = agent.encode(event, &deny);
            let said = !reply.stdout.is_empty() || !reply.stderr.is_empty();
            assert!(
                said || !reply.lost.is_empty(),
                "a deny is said, or it is said that it was lost"
            );
        }
    }
}

/// Reads bytes as the settings of every agent: wired twice is wired once.
pub fn settings(data: &[u8]) {
    use crate::wiring::{Call, Scope, Texts};
    let text = String::from_utf8_lossy(data).into_owned();
    let scope = Scope {
        home: "/home".into(),
        config_home: "/home/.config".into(),
        project: None,
        variables: std::collections::BTreeMap::new(),
    };
    let call = Call { binary: "/anyhook".into() };
    for agent in AGENTS {
        let texts: Texts =
            agent.settings_files(&scope).into_iter().map(|path| (path, text.clone())).collect();
        let Ok(edits) = agent.wire(&scope, &texts, &call) else { continue };
        let wired: Texts =
            edits.iter().filter_map(|(path, text)| Some((path.clone(), text.clone()?))).collect();
        let again = agent.wire(&scope, &wired, &call).expect("what we write we can read");
        assert_eq!(again, edits);
        let _ = agent.unwire(&scope, &wired).expect("what we write we can take away");
    }
}
