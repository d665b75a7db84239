use proptest::prelude::*;

use super::*;

fn stateless(
    name: &str,
    step: impl Fn(&str) -> StreamStep + Clone + Send + Sync + 'static,
) -> StreamHook {
    StreamHook::new(name, move || {
        let step = step.clone();
        Box::new(move |piece| step(piece))
    })
}

fn upper(name: &str) -> StreamHook {
    stateless(name, |piece| StreamStep::Change(piece.to_uppercase()))
}

/// Shows whole lines only.
fn by_lines(name: &str) -> StreamHook {
    stateless(name, |text| match text.rfind('\n') {
        Some(end) => StreamStep::Part(text[..=end].to_owned(), text[end + 1..].to_owned()),
        None => StreamStep::Hold,
    })
}

#[test]
fn in_order_each_sees_what_the_ones_before_let_through() {
    let star = stateless("star", |piece| StreamStep::Change(format!("{piece}x")));
    let hooks = [star.clone().priority(1), upper("upper")];
    let mut chain = StreamChain::new(&hooks);
    assert_eq!(chain.push("a").unwrap(), "Ax");
    let mut chain = StreamChain::new(&[star.priority(500), upper("upper")]);
    assert_eq!(chain.push("a").unwrap(), "AX");
    assert_eq!(chain.finish().unwrap(), "");
}

#[test]
fn what_is_held_comes_again_and_is_shown_at_the_end() {
    let mut chain = StreamChain::new(&[by_lines("lines"), upper("upper").priority(1)]);
    assert_eq!(chain.push("ab").unwrap(), "");
    assert_eq!(chain.push("c\nd").unwrap(), "ABC\n");
    assert_eq!(chain.push("").unwrap(), "");
    assert_eq!(chain.finish().unwrap(), "D");
    assert_eq!(chain.finish().unwrap(), "");
}

#[test]
fn one_that_knows_the_end_may_add_to_it() {
    let footer =
        StreamHook::with_end("footer", || {
            Box::new(|piece, is_last| {
                if is_last { StreamStep::Change(format!("{piece}.")) } else { StreamStep::Pass }
            })
        });
    let mut chain = StreamChain::new(&[by_lines("lines"), footer.priority(1)]);
    assert_eq!(chain.push("a\nb").unwrap(), "a\n");
    assert_eq!(chain.finish().unwrap(), "b.");
}

#[test]
fn a_stop_ends_it_for_good() {
    let stop = stateless("stop", |piece| {
        if piece.contains("bad") { StreamStep::Stop("no".into()) } else { StreamStep::Pass }
    });
    let mut chain = StreamChain::new(&[stop]);
    assert_eq!(chain.push("good").unwrap(), "good");
    let stopped = StreamStopped { hook: "stop".into(), reason: "no".into() };
    assert_eq!(chain.push("bad"), Err(stopped.clone()));
    assert_eq!(chain.push("good"), Err(stopped.clone()));
    assert_eq!(chain.finish(), Err(stopped));
    assert!(chain.failures().is_empty());
}

#[test]
fn a_panic_passes_the_text_or_stops_it() {
    let loud = || {
        stateless(
            "loud",
            |piece| if piece.ends_with('!') { panic!("boom") } else { StreamStep::Hold },
        )
    };
    let mut chain = StreamChain::new(&[loud(), upper("upper").priority(1)]);
    assert_eq!(chain.push("a").unwrap(), "");
    assert_eq!(chain.push("b!").unwrap(), "AB!");
    assert_eq!(chain.push("c!").unwrap(), "C!");
    let [failure] = chain.failures() else { panic!() };
    assert_eq!(failure.error.to_string(), "it panicked: boom");

    let mut chain = StreamChain::new(&[loud().guardrail(), upper("upper").priority(1)]);
    assert_eq!(chain.push("!").unwrap_err().reason, "it panicked: boom");
    assert!(chain.finish().is_err());
}

#[test]
fn one_that_cannot_begin_or_is_slow_or_holds_all_has_failed() {
    let no_beginning = StreamHook::new("broken", || panic!("boom"));
    let mut chain = StreamChain::new(std::slice::from_ref(&no_beginning));
    assert_eq!((chain.push("a").unwrap().as_str(), chain.failures().len()), ("a", 1));
    assert!(StreamChain::new(&[no_beginning.guardrail()]).push("a").is_err());

    let slow = stateless("slow", |_| {
        std::thread::sleep(Duration::from_millis(2));
        StreamStep::Change(String::new())
    });
    let mut chain = StreamChain::new(&[slow.timeout(Duration::from_millis(1))]);
    assert_eq!((chain.push("a").unwrap().as_str(), chain.failures().len()), ("a", 1));

    let greedy = stateless("greedy", |_| StreamStep::Hold);
    let mut chain = StreamChain::new(&[greedy]);
    let half = "a".repeat(MOST_HELD / 2 + 1);
    assert_eq!(chain.push(&half).unwrap(), "");
    assert_eq!(chain.push(&half).unwrap(), half.repeat(2));
    assert_eq!(chain.failures().len(), 1);
}

#[test]
fn each_run_has_a_state_of_its_own() {
    let hook = StreamHook::new("first", || {
        let mut seen = false;
        Box::new(move |piece| {
            let first = !std::mem::replace(&mut seen, true);
            StreamStep::Change(if first { piece.to_owned() } else { String::new() })
        })
    });
    for _ in 0..2 {
        let mut chain = StreamChain::new(std::slice::from_ref(&hook));
        assert_eq!(chain.push("a").unwrap() + &chain.push("b").unwrap(), "a");
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_doubled(pieces in prop::collection::vec("[a-z\n]{0,6}", 0..20)) {
        let mut chain = StreamChain::new(&[by_lines("lines"), by_lines("again"), upper("upper")]);
        let mut shown = String::new();
        for piece in &pieces {
            shown += &chain.push(piece).unwrap();
        }
        shown += &chain.finish().unwrap();
        prop_assert_eq!(shown, pieces.concat().to_uppercase());
    }
}
