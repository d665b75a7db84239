//! Tests of graphs: snapshots, and properties that hold for every one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::layout::{DiagramLayout, Point, Rect, Sizes, plan};
use super::*;
use crate::definition::{ApprovalRule, QaRule};
use crate::machine::tests::Run;
use crate::testing::{DEFAULT, default, read};
use crate::vocabulary::Mode;
use anyhook_flow::runbook::SpannedName;

/// The default with a stage that rolls back, a review that always applies, and another order.
fn changed() -> WorkflowDefinition {
    let text = DEFAULT
        .replace("stages = []", "stages = [\"implementation\"]")
        .replace(
            "on_failure = \"block\"",
            "on_failure = \"rollback\"\nrollback_to = \"architecture\"",
        )
        .replace("name = \"delivery\"", "name = \"changed\"")
        .replace(
            "agent = \"ai_engineer\"\ngroup = \"implementation\"",
            "agent = \"ai_engineer\"\napproval = \"before\"",
        )
        .replace("after = [\"qa_testing\"]", "after = [\"qa_testing\", \"ai_implementation\"]");
    let reading = read(&text);
    assert_eq!(reading.findings, []);
    reading.definition
}

/// A workflow in progress: something is done, skipped, reviewed, waiting for a person, and
/// repeated.
fn on_its_way() -> Run {
    let mut run = Run::new("full_system", "medium");
    run.done("requirements").reviewed("safety_review", "requirements", "approve_with_notes");
    run.approve("requirements");
    let said = json!({"status": "completed_with_warnings", "warnings": ["slow"],
        "next_agent_required": ["backend_engineer", "ai_engineer"], "risk_level": "high"});
    run.says("architecture", &said);
    for review in ["safety_review", "governance_review"] {
        run.reviewed(review, "architecture", "approve");
    }
    run.approve("architecture").done("backend_implementation");
    let failed = json!({"status": "failed", "reason": "no model", "output_artifacts": []});
    run.says("ai_implementation", &failed);
    run
}

#[test]
fn the_default_as_mermaid() {
    insta::assert_snapshot!(mermaid(&default(), None));
}

#[test]
fn a_changed_one_on_its_way_as_mermaid() {
    let run = on_its_way();
    insta::assert_snapshot!(mermaid(&run.definition, Some(&run.state)));
    assert!(mermaid(&changed(), None).contains("  deployment -. rollback .-> architecture\n"));
}

#[test]
fn the_default_as_svg() {
    insta::assert_snapshot!(svg(&default(), None));
}

#[test]
fn a_changed_one_as_svg() {
    insta::assert_snapshot!(svg(&changed(), None));
}

#[test]
fn one_on_its_way_as_svg() {
    let run = on_its_way();
    insta::assert_snapshot!(svg(&run.definition, Some(&run.state)));
}

#[test]
fn words_of_mermaid_are_no_nodes() {
    let text = DEFAULT.replace("\"requirements\"", "\"end\"");
    let picture = mermaid(&read(&text).definition, None);
    assert!(picture.contains("  end_[\"end<br/>product_manager\"]\n"), "{picture}");
    assert!(picture.contains("  end__approval --> architecture\n"));
}

/// Returns the names of all nodes and groups.
fn nodes(picture: &str) -> Vec<&str> {
    let lines = picture.lines().skip(1).map(str::trim);
    let names = lines.filter_map(|line| {
        let line = line.strip_prefix("subgraph ").unwrap_or(line);
        let end = line.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')?;
        line[end..].starts_with(['[', '{', '(']).then(|| &line[..end])
    });
    names.collect()
}

#[test]
fn names_that_look_alike_are_nodes_of_their_own() {
    let text = DEFAULT
        .replace("\"architecture\"", "\"qa-testing\"")
        .replace("\"safety_review\"", "\"requirements_approval\"")
        .replace("\"implementation\"", "\"requirements-approval\"");
    let reading = read(&text);
    assert_eq!(reading.findings, []);
    let picture = mermaid(&reading.definition, None);
    let names = nodes(&picture);
    // Stages, the group, gates and reviews.
    assert_eq!(names.len(), 7 + 1 + 3 + 3, "{picture}");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

/// Checks that XML is well-formed: every element is closed, in order, every attribute is given once
/// and quoted, and everything is escaped. Returns all texts.
fn well_formed(text: &str) -> Result<Vec<String>, String> {
    let mut open: Vec<&str> = Vec::new();
    let mut texts = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        let Some(start) = rest.find('<') else { return Err(format!("text at the end: {rest}")) };
        let between = &rest[..start];
        if between.contains('>') {
            return Err(format!("not escaped: {between}"));
        }
        texts.push(unescaped(between)?);
        let end = rest.find('>').ok_or("a tag without an end")?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("`{name}` is closed, and was not opened last"));
            }
            if open.is_empty() && !rest.is_empty() {
                return Err(format!("after the end: {rest}"));
            }
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut seen = BTreeSet::new();
        while !attributes.trim().is_empty() {
            let (key, after) = attributes.trim_start().split_once("=\"").ok_or(tag)?;
            let (value, after) = after.split_once('"').ok_or(tag)?;
            if !seen.insert(key) || value.contains('<') {
                return Err(format!("`{key}` of {tag}"));
            }
            unescaped(value)?;
            attributes = after;
        }
        if !is_empty {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(texts) } else { Err(format!("never closed: {open:?}")) }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').ok_or_else(|| format!("& in {text}"))?;
        plain.push_str(match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            other => return Err(format!("unknown &{other};")),
        });
        plain.push_str(after);
    }
    Ok(plain)
}

#[test]
fn what_is_not_well_formed_is_seen() {
    for text in ["<a>", "<a></b>", "<a><b></a></b>", "<a>&</a>", "<a x=1/>", "<a x=\"1\" x=\"1\"/>"]
    {
        assert!(well_formed(text).is_err(), "{text}");
    }
    let good = well_formed("<a x=\"1\" y=\"&lt;\"><b/>x &amp; y</a>").unwrap();
    assert!(good.contains(&"x & y".to_owned()));
}

#[test]
fn whatever_is_written_in_it_an_svg_is_well_formed() {
    let nasty = "a<b>&\"c\"</svg>\u{1}\u{0}";
    let mut definition = changed();
    definition.name = nasty.to_owned();
    definition.stages[0].name.text = nasty.to_owned();
    definition.stages[1].agent.text = nasty.to_owned();
    definition.stages[3].group =
        Some(SpannedName { text: nasty.to_owned(), ..SpannedName::default() });
    definition.reviews[0].name.text = nasty.to_owned();
    let run = on_its_way();
    for state in [None, Some(&run.state)] {
        let picture = svg(&definition, state);
        let texts = well_formed(&picture).unwrap_or_else(|why| panic!("{why}\n{picture}"));
        let shown = nasty.trim_end_matches(['\u{0}', '\u{1}']);
        assert!(texts.iter().filter(|text| text.contains(shown)).count() >= 5, "{texts:?}");
    }
}

#[test]
fn a_picture_says_in_words_what_it_shows() {
    let run = on_its_way();
    let picture = svg(&run.definition, Some(&run.state));
    for words in [
        "role=\"img\" aria-labelledby=\"workflow-title workflow-description\"",
        "<title id=\"workflow-title\">Workflow delivery</title>",
        "architecture by system_architect, after requirements, completed_with_warnings.",
        "frontend_implementation by frontend_engineer, after architecture, skipped.",
        ">in_progress, attempt 2</text>",
        "@media (prefers-color-scheme: dark)",
    ] {
        assert!(picture.contains(words), "{words}\n{picture}");
    }
    // Nothing is fetched.
    assert_eq!(picture.matches("http").count(), 1);
    assert!(!picture.contains("href") && !picture.contains("@import"));
}

#[test]
fn a_group_whose_stages_come_after_each_other_has_no_frame() {
    let text = DEFAULT.replace(
        "agent = \"ai_engineer\"\ngroup = \"implementation\"\nafter = [\"architecture\"]",
        "agent = \"ai_engineer\"\ngroup = \"implementation\"\nafter = [\"backend_implementation\"]",
    );
    let reading = read(&text);
    assert_eq!(reading.findings, []);
    let picture = svg(&reading.definition, None);
    assert!(!picture.contains("class=\"frame\""));
    assert!(picture.contains(">ai_engineer, implementation</text>"));
}

#[test]
fn what_cannot_be_a_workflow_is_drawn_all_the_same() {
    for text in ["", "[[stage]]\nname = \"a\"\nafter = [\"a\"]", "[[review]]\nname = \"a\""] {
        let definition = read(text).definition;
        assert!(well_formed(&svg(&definition, None)).is_ok(), "{text}");
        assert!(mermaid(&definition, None).starts_with("flowchart TD"));
    }
}

fn name(text: impl Into<String>) -> SpannedName {
    SpannedName { text: text.into(), ..SpannedName::default() }
}

/// Any order of stages, with groups, gates, and rollbacks.
fn definitions() -> impl Strategy<Value = WorkflowDefinition> {
    let stage = (
        any::<u16>(),
        prop::option::weighted(0.4, 0..3_u8),
        prop::option::weighted(0.3, any::<bool>()),
        prop::option::weighted(0.2, any::<prop::sample::Index>()),
        0..30_usize,
    );
    (prop::collection::vec(stage, 1..12), any::<u16>()).prop_map(|(stages, fix)| {
        let mut definition = WorkflowDefinition::default();
        let count = stages.len();
        for (number, (after, group, gate, back, length)) in stages.into_iter().enumerate() {
            let is_after = |other: &usize| after >> other & 1 == 1 && after >> (other + 3) & 1 == 1;
            definition.stages.push(StageDefinition {
                name: name(format!("s{number}")),
                agent: name("a".repeat(length + 1)),
                group: group.map(|group| name(format!("g{group}"))),
                after: (0..number)
                    .filter(is_after)
                    .map(|other| name(format!("s{other}")))
                    .collect(),
                approval: gate.map(|is_before| ApprovalRule {
                    when: if is_before { When::Before } else { When::After },
                    modes: if length % 2 == 0 {
                        vec![Mode::FullSystem, Mode::BugFix]
                    } else {
                        vec![]
                    },
                }),
                rollback_to: back
                    .filter(|_| number > 0)
                    .map(|back| name(format!("s{}", back.index(number)))),
                ..StageDefinition::default()
            });
        }
        let to_fix = (0..count - 1).filter(|one| fix >> one & 1 == 1);
        definition.qa = Some(QaRule {
            stage: name(format!("s{}", count - 1)),
            fix: to_fix.map(|one| name(format!("s{one}"))).collect(),
            ..QaRule::default()
        });
        definition
    })
}

fn planned(definition: &WorkflowDefinition) -> DiagramLayout<'_> {
    let sizes = Sizes {
        width: &|stage| 100 + 8 * i32::try_from(stage.agent.text.len()).unwrap(),
        height: 60,
        gate: &|lines| (90, 40 + 15 * i32::try_from(lines.len()).unwrap()),
    };
    plan(definition, &sizes, (40, 100))
}

fn overlap(one: Rect, other: Rect) -> bool {
    one.x < other.right()
        && other.x < one.right()
        && one.y < other.bottom()
        && other.y < one.bottom()
}

fn is_inside(inner: Rect, outer: Rect) -> bool {
    outer.x <= inner.x
        && outer.y <= inner.y
        && inner.right() <= outer.right()
        && inner.bottom() <= outer.bottom()
}

/// Returns points along a path; between two that are not vertically aligned it is bent as drawn.
fn along(points: &[Point]) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for pair in points.windows(2) {
        let [(x, y), (to_x, to_y)] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        for step in 0..=40 {
            let part = f64::from(step) / 40.0;
            let rest = 1.0 - part;
            // The curve's control points are vertically below and above its ends, half way between
            // them.
            let half = f64::midpoint(y, to_y);
            let is_aside = pair[0].0 != pair[1].0 && pair[0].1 != pair[1].1;
            all.push(if is_aside {
                let bend = 3.0 * rest * part;
                (
                    x * (rest.powi(3) + bend * rest) + to_x * (part.powi(3) + bend * part),
                    y * rest.powi(3) + half * bend + to_y * part.powi(3),
                )
            } else {
                (x * rest + to_x * part, y * rest + to_y * part)
            });
        }
    }
    all
}

fn goes_through(way: &[Point], place: Rect) -> bool {
    along(way).into_iter().any(|(x, y)| {
        x > f64::from(place.x) + 0.5
            && x < f64::from(place.right()) - 0.5
            && y > f64::from(place.y) + 0.5
            && y < f64::from(place.bottom()) - 0.5
    })
}

proptest! {
    #[test]
    fn nothing_covers_anything(definition in definitions()) {
        let plan = planned(&definition);
        prop_assert_eq!(plan.stages.len(), definition.stages.len());
        let gates = plan.stages.iter().filter_map(|drawn| drawn.gate);
        let places: Vec<Rect> =
            plan.stages.iter().map(|drawn| drawn.place).chain(gates).collect();
        for (number, one) in places.iter().enumerate() {
            prop_assert!(one.x >= 40 && one.y >= 100);
            prop_assert!(one.right() <= plan.right && one.bottom() <= plan.bottom);
            for other in &places[number + 1..] {
                prop_assert!(!overlap(*one, *other), "{one:?} {other:?}");
            }
        }
        for (number, (group, frame)) in plan.frames.iter().enumerate() {
            for drawn in &plan.stages {
                let is_member = drawn.stage.group.as_ref().is_some_and(|one| one.text == *group);
                for place in drawn.gate.into_iter().chain([drawn.place]) {
                    prop_assert_eq!(is_inside(place, *frame), is_member);
                    prop_assert_eq!(overlap(place, *frame), is_member);
                }
            }
            for (_, other) in &plan.frames[number + 1..] {
                prop_assert!(!overlap(*frame, *other));
            }
        }
        for way in plan.arrows.iter().chain(plan.back.iter().map(|(_, way)| way)) {
            for place in &places {
                prop_assert!(!goes_through(way, *place), "{way:?} {place:?}");
            }
            prop_assert!(way.iter().all(|(x, y)| *x >= 40 && *y >= 40));
        }
        for way in &plan.arrows {
            prop_assert!(way.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{way:?}");
        }
    }

    #[test]
    fn every_stage_is_below_what_it_comes_after(definition in definitions()) {
        let plan = planned(&definition);
        let place = |name: &str| {
            plan.stages.iter().find(|drawn| drawn.stage.name.text == name).unwrap().place
        };
        for stage in &definition.stages {
            for before in definition.before(stage) {
                prop_assert!(place(&before.name.text).bottom() < place(&stage.name.text).y);
            }
        }
        prop_assert!(well_formed(&svg(&definition, None)).is_ok());
    }
}
