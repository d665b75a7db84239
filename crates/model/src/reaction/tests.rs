use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(value: &Value) -> Result<Reactions, String> {
    Reactions::read(value).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ReactionError::to_string).collect();
        errors.join("\n")
    })
}

/// Returns the location of the only error.
fn path_of_error(value: &Value) -> String {
    let errors = Reactions::read(value).expect_err(&value.to_string());
    let [error] = &errors[..] else { panic!("{value}: {errors:?}") };
    error.path.clone()
}

#[test]
fn what_is_not_said_is_as_in_the_table() {
    let reactions = read(&json!({})).unwrap();
    assert_eq!(reactions, Reactions::default());
    assert_eq!(reactions.on_idle, Action::new(Verb::Nudge));
    assert_eq!(reactions.on_prompt, Action::new(Verb::Escalate), "no on_prompt: escalate");
    assert_eq!(reactions.on_dead, Action::new(Verb::Escalate));
    for (kind, _) in FailureKind::ALL {
        assert_eq!(reactions.on_error(kind), (0, Action::new(Verb::Escalate)));
    }
    assert_eq!(reactions.on_stop, Action::new(Verb::Idle));
    assert_eq!(reactions.on_idle.attempts(), Attempts::Times(NonZeroU32::MIN));
    assert_eq!(reactions.on_idle.timeout(), SignedDuration::from_secs(30));
}

#[test]
fn on_prompt_done_parses() {
    assert_eq!(read(&json!({"on_prompt": "done"})).unwrap().on_prompt.verb, Verb::Done);
}

#[test]
fn the_actions_of_the_table_are_those_that_can_be_done() {
    let table = [
        ("on_idle", &["nudge", "done", "fail", "escalate", "gate"][..]),
        ("on_prompt", &["escalate", "done", "fail", "gate"]),
        ("on_dead", &["recover", "done", "fail", "escalate", "gate"]),
        ("on_error", &["fail", "escalate", "gate", "recover"]),
        ("on_stop", &["signal", "idle", "escalate"]),
    ];
    for (trigger, valid) in table {
        for (verb, name) in Verb::ALL {
            let object = if verb == Verb::Gate {
                json!({"action": name, "run": "make"})
            } else {
                json!({"action": name})
            };
            let result = read(&json!({trigger: object}));
            assert_eq!(result.is_ok(), valid.contains(&name), "{trigger} {name}: {result:?}");
            if verb != Verb::Gate {
                assert_eq!(read(&json!({trigger: name})).is_ok(), valid.contains(&name));
            }
            if !valid.contains(&name) {
                assert_eq!(path_of_error(&json!({trigger: object})), format!("{trigger}.action"));
                assert_eq!(path_of_error(&json!({trigger: name})), trigger);
            }
        }
    }
}

#[test]
fn every_key_counts_in_an_object() {
    let action = read(&json!({"on_idle": {"action": "gate", "message": "look", "append": true,
        "run": "make check", "attempts": 3, "cooldown": "5m", "timeout": "2m"}}));
    assert_eq!(
        action.unwrap().on_idle,
        Action {
            verb: Verb::Gate,
            message: Some("look".to_owned()),
            append: true,
            run: Some("make check".to_owned()),
            attempts: Some(Attempts::Times(NonZeroU32::new(3).unwrap())),
            cooldown: Some(SignedDuration::from_mins(5)),
            timeout: Some(SignedDuration::from_mins(2)),
        }
    );
}

#[test]
fn every_key_counts_in_the_list_by_kind() {
    let reactions = read(&json!({"on_error": [
        {"match": "rate_limited", "action": "recover", "message": "go on", "append": true,
            "attempts": "forever", "cooldown": "30s"},
        {"match": "no_network", "action": "gate", "run": "ping -c1 host"},
        {"match": "unauthorized", "action": "fail"},
        {"action": "escalate", "message": "look"},
    ]}))
    .unwrap();
    let (number, action) = reactions.on_error(FailureKind::RateLimited);
    assert_eq!((number, action.verb, action.append), (0, Verb::Recover, true));
    assert_eq!(action.attempts(), Attempts::Forever);
    assert_eq!(action.cooldown, Some(SignedDuration::from_secs(30)));
    assert_eq!(action.say("start"), "start\ngo on");
    assert_eq!(reactions.on_error(FailureKind::NoNetwork).1.run.unwrap(), "ping -c1 host");
    assert_eq!(reactions.on_error(FailureKind::Unauthorized).1.verb, Verb::Fail);
    for kind in [FailureKind::OutOfCredits, FailureKind::Other] {
        let (number, action) = reactions.on_error(kind);
        assert_eq!((number, action.say("")), (3, "look".to_owned()));
    }
    let reactions = read(&json!({"on_error": [{"match": "other", "action": "fail"}]})).unwrap();
    assert_eq!(
        reactions.on_error(FailureKind::NoNetwork),
        (1, Action::new(Verb::Escalate)),
        "a kind nobody thought of is for a person"
    );
    assert_eq!(read(&json!({"on_error": ["fail"]})).unwrap().on_error[0].action.verb, Verb::Fail);
}

#[test]
fn an_error_names_the_key() {
    for (value, path) in [
        (json!({"on_idel": "nudge"}), "on_idel"),
        (json!({"on_idle": {"action": "nudge", "atempts": 2}}), "on_idle.atempts"),
        (json!({"on_idle": {"action": "nudge", "match": "other"}}), "on_idle.match"),
        (json!({"on_error": {"action": "fail", "match": "other"}}), "on_error.match"),
        (json!({"on_idle": {"action": "nudge", "attempts": 0}}), "on_idle.attempts"),
        (json!({"on_idle": {"action": "nudge", "attempts": -1}}), "on_idle.attempts"),
        (json!({"on_idle": {"action": "nudge", "attempts": 1.5}}), "on_idle.attempts"),
        (
            json!({"on_idle": {"action": "nudge", "attempts": 4_294_967_296_u64}}),
            "on_idle.attempts",
        ),
        (json!({"on_idle": {"action": "nudge", "attempts": "often"}}), "on_idle.attempts"),
        (json!({"on_idle": {"action": "nudge", "cooldown": "soon"}}), "on_idle.cooldown"),
        (json!({"on_idle": {"action": "nudge", "cooldown": "-30s"}}), "on_idle.cooldown"),
        (json!({"on_idle": {"action": "nudge", "cooldown": "30s ago"}}), "on_idle.cooldown"),
        (json!({"on_idle": {"action": "nudge", "cooldown": 30}}), "on_idle.cooldown"),
        (json!({"on_idle": {"action": "nudge", "message": 7}}), "on_idle.message"),
        (json!({"on_dead": {"action": "recover", "append": "yes"}}), "on_dead.append"),
        (json!({"on_dead": {"action": "recover", "append": true}}), "on_dead.append"),
        (json!({"on_idle": {"action": "nudge", "run": "make"}}), "on_idle.run"),
        (json!({"on_idle": {"action": "nudge", "timeout": "5s"}}), "on_idle.timeout"),
        (json!({"on_stop": {"action": "signal", "cooldown": "5s"}}), "on_stop.cooldown"),
        (json!({"on_idle": {"action": "gate", "run": "x", "timeout": "0s"}}), "on_idle.timeout"),
        (json!({"on_idle": "gate"}), "on_idle"),
        (json!({"on_prompt": {"action": "gate"}}), "on_prompt"),
        (json!({"on_idle": {"action": "gate", "run": "  "}}), "on_idle.run"),
        (json!({"on_prompt": "nudge"}), "on_prompt"),
        (json!({"on_prompt": {"action": "nudge"}}), "on_prompt.action"),
        (json!({"on_idle": {"message": "x"}}), "on_idle"),
        (json!({"on_idle": {"action": 7}}), "on_idle.action"),
        (json!({"on_idle": null}), "on_idle"),
        (json!({"on_idle": ["nudge"]}), "on_idle"),
        (json!({"on_error": [{"action": "fail"}, {"action": "nudge"}]}), "on_error[1].action"),
        (json!({"on_error": [{"match": "bad", "action": "fail"}]}), "on_error[0].match"),
        (json!({"on_error": [{"match": 7, "action": "fail"}]}), "on_error[0].match"),
        (json!({"on_error": [{"action": "fail", "attempts": 0}]}), "on_error[0].attempts"),
        (json!({"on_error": [7]}), "on_error[0]"),
        (json!([]), ""),
    ] {
        assert_eq!(path_of_error(&value), path, "{value}");
    }
    assert_eq!(
        read(&json!({"on_prompt": "nudge"})).unwrap_err(),
        "on_prompt: `nudge` is not allowed here; expected one of escalate, done, fail, gate"
    );
    assert_eq!(
        read(&json!({"on_idle": {"action": "nudge", "attempts": 0}})).unwrap_err(),
        "on_idle.attempts: expected a positive integer, or \"forever\""
    );
}

#[test]
fn every_mistake_is_named() {
    let value = json!({
        "on_idle": {"foo": 1, "action": "nudge", "attempts": 0, "cooldown": 5, "append": true, "bar": 2},
        "on_prompt": {"action": "gate", "run": " ", "timeout": "0s", "message": 7},
        "on_dead": {"action": "revive", "run": 1, "timeout": "soon", "append": "yes"},
        "on_error": [
            {"match": "bad", "action": "fail", "run": "x", "timeout": 1},
            "fail",
            7,
            {"match": 7, "attempts": "often"},
            "nudge",
            {"action": "gate", "macth": "other"},
        ],
        "on_stop": {"cooldown": "soon", "attempts": -1},
        "on_idel": "nudge",
    });
    insta::assert_snapshot!(read(&value).unwrap_err());
}

#[test]
fn a_key_of_somebody_else_is_left_to_them() {
    let mut reactions = Reactions::default();
    assert!(!reactions.set("run", &json!("claude")).unwrap());
    assert!(reactions.set("on_idle", &json!("done")).unwrap());
    assert_eq!(reactions.on_idle.verb, Verb::Done);
}

#[test]
fn what_is_said_instead_and_beside() {
    let mut action = Action::new(Verb::Nudge);
    assert_eq!(action.say("own"), "own");
    action.message = Some("more".to_owned());
    assert_eq!(action.say("own"), "more");
    action.append = true;
    assert_eq!(action.say("own"), "own\nmore");
}

fn an_action(trigger: Trigger) -> impl Strategy<Value = Action> {
    let verb = prop::sample::select(trigger.verbs());
    let more = (
        prop::option::of("[a-z ]{0,8}"),
        any::<bool>(),
        prop::option::of(prop_oneof![Just(0), 1_u32..9]),
        prop::option::of(0_i64..100_000),
        prop::option::of(1_i64..100_000),
    );
    (verb, more).prop_map(move |(verb, (message, append, attempts, cooldown, timeout))| Action {
        verb,
        append: append && message.is_some(),
        message,
        run: (verb == Verb::Gate).then(|| "make".to_owned()),
        attempts: attempts
            .map(|times| NonZeroU32::new(times).map_or(Attempts::Forever, Attempts::Times)),
        cooldown: cooldown.filter(|_| trigger != Trigger::OnStop).map(SignedDuration::from_millis),
        timeout: timeout.filter(|_| verb == Verb::Gate).map(SignedDuration::from_secs),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        on_idle in an_action(Trigger::OnIdle),
        on_prompt in an_action(Trigger::OnPrompt),
        on_dead in an_action(Trigger::OnDead),
        on_stop in an_action(Trigger::OnStop),
        rules in prop::collection::vec((0_usize..6, an_action(Trigger::OnError)), 0..4),
    ) {
        let on_error = rules.into_iter().map(|(kind, action)| ErrorRule {
            kind: FailureKind::ALL.get(kind).map(|(kind, _)| *kind), action,
        }).collect();
        let reactions = Reactions { on_idle, on_prompt, on_dead, on_error, on_stop };
        let text = serde_json::to_string(&reactions).unwrap();
        prop_assert_eq!(serde_json::from_str::<Reactions>(&text).unwrap(), reactions);
    }
}
