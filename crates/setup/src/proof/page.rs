//! What a person sees of a proof.

use anyhook_model::proof::{AgentOutcome, Proof};
use anyhook_terminal::format::span;
use anyhook_terminal::tone::{StyledLine, Tone};

/// Returns a proof as lines.
pub fn lines(proof: &Proof) -> Vec<StyledLine> {
    let mut lines = vec![heading(proof)];
    let mut line = |tone, mark: &str, text: String| {
        lines.push(vec![(tone, format!("  {mark} ")), (Tone::Plain, text)]);
    };
    match &proof.fault {
        Some(fault) => line(Tone::Bad, "✗", fault.clone()),
        None => line(Tone::Good, "✓", "its entry is what anyhook writes".to_owned()),
    }
    for event in &proof.events {
        let (name, native) = (&event.event, &event.native_name);
        match (event.denied, &event.why_not) {
            (true, _) => {
                let took = span(event.took_us);
                line(Tone::Good, "✓", format!("{name} ({native}): denied in {took}"));
            }
            (false, why) => {
                let why = why.as_deref().unwrap_or("not denied");
                line(Tone::Bad, "✗", format!("{name} ({native}): {why}"));
            }
        }
    }
    let why = proof.run.why.as_deref().unwrap_or_default();
    let took = span(proof.run.took_ms.saturating_mul(1000));
    match proof.run.outcome {
        AgentOutcome::Denied => {
            let text = format!("the agent itself: denied, seen by the model ({took})");
            line(Tone::Good, "✓", text);
        }
        AgentOutcome::Failed => line(Tone::Bad, "✗", format!("the agent itself: {why}")),
        AgentOutcome::NotRun => {
            line(Tone::Dim, "·", format!("the agent itself was not run: {why}"));
        }
    }
    lines
}

/// Returns how many proofs there are, and how many of them failed.
pub fn summary(proofs: usize, failed: usize) -> (Tone, String) {
    match (proofs, failed) {
        (0, _) => (Tone::Bad, "nothing to prove: no agent calls anyhook".to_owned()),
        (_, 0) => (Tone::Good, "proven".to_owned()),
        (_, 1) => (Tone::Bad, "1 proof failed".to_owned()),
        (_, failed) => (Tone::Bad, format!("{failed} proofs failed")),
    }
}

fn heading(proof: &Proof) -> StyledLine {
    let mut line = vec![(Tone::Strong, proof.agent.clone())];
    if let Some(version) = &proof.version {
        line.push((Tone::Dim, format!(" {version}")));
    }
    if let Some(project) = &proof.project {
        line.push((Tone::Dim, format!(" in {project}")));
    }
    line
}
