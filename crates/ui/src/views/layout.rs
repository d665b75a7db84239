//! What all pages have in common.

use anyhook_model::daemon::DecisionView;
use maud::{DOCTYPE, Markup, html};

use crate::app::App;
use crate::assets::VERSION;
use crate::guard::Caller;

/// The sections of the page: their address, their name, and the changes that concern them.
const SECTIONS: &[(&str, &str)] = &[
    ("/agents", "Agents"),
    ("/decisions", "Inbox"),
    ("/journal", "Journal"),
    ("/hooks", "Hooks"),
    ("/pipelines", "Pipelines"),
    #[cfg(feature = "workflow")]
    ("/workflows", "Workflows"),
    ("/stats", "Statistics"),
    ("/devices", "Devices"),
];

/// A page: where it is, what it is called, and which changes concern it.
#[derive(Clone, Copy, Debug)]
pub struct PageHead<'page> {
    /// The address of its section.
    pub section: &'page str,
    /// Its title.
    pub title: &'page str,
    /// The changes that concern it, as in `live`.
    pub follows: &'page str,
}

/// Makes a page.
pub async fn page(app: &App, caller: &Caller, head: PageHead<'_>, content: &Markup) -> Markup {
    let is_open = |decision: &DecisionView| decision.resolution.is_none();
    let decisions = app.decisions().await.unwrap_or_default();
    let waiting = decisions.iter().filter(|decision| is_open(decision)).count();
    let title = match waiting {
        0 => format!("{} · anyhook", head.title),
        waiting => format!("({waiting}) {} · anyhook", head.title),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            (document_head(&title, Some(caller), caller.device().is_some()))
            body data-follows=(head.follows) {
                a.skip href="#main" { "Skip to the content" }
                header #top {
                    a.brand href="/agents" { img src={"/assets/icon.svg?" (VERSION)} alt="" width="24" height="24"; "anyhook" }
                    nav #nav aria-label="Sections" {
                        @for (address, name) in SECTIONS.iter().copied() {
                            a href=(address) aria-current=[(address == head.section).then_some("page")] {
                                (name)
                                @if address == "/decisions" && waiting > 0 {
                                    " " span.count { (waiting) span.unseen { " open" } }
                                }
                            }
                        }
                    }
                    (leave(caller))
                }
                p #stale.notice.warn role="status" hidden {
                    "The daemon does not answer: what you see may be out of date. Trying again …"
                }
                @if caller.device().is_some() {
                    noscript {
                        p.notice.bad {
                            "A device signs what it sends. For that, its browser needs JavaScript."
                        }
                    }
                }
                main #main tabindex="-1" { (content) }
                (footer())
            }
        }
    }
}

/// Makes a page without navigation: for what went wrong.
pub fn bare(title: &str, caller: Option<&Caller>, content: &Markup) -> Markup {
    bare_with(title, caller, caller.is_some_and(|caller| caller.device().is_some()), content)
}

/// Makes a page for a device that has not been let in.
pub fn bare_for_device(title: &str, content: &Markup) -> Markup {
    bare_with(title, None, true, content)
}

fn bare_with(title: &str, caller: Option<&Caller>, is_device: bool, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (document_head(&format!("{title} · anyhook"), caller, is_device))
            body {
                header #top {
                    a.brand href="/agents" { img src={"/assets/icon.svg?" (VERSION)} alt="" width="24" height="24"; "anyhook" }
                    @if caller.is_some() {
                        nav #nav aria-label="Sections" {
                            @for (address, name) in SECTIONS { a href=(address) { (name) } }
                        }
                    }
                }
                main #main tabindex="-1" { (content) }
                (footer())
            }
        }
    }
}

fn document_head(title: &str, caller: Option<&Caller>, is_device: bool) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            @if let Some(caller) = caller { meta name="csrf" content=(caller.csrf()); }
            title { (title) }
            link rel="icon" type="image/svg+xml" href={"/assets/icon.svg?" (VERSION)};
            link rel="stylesheet" href={"/assets/page.css?" (VERSION)};
            script type="module" src={"/assets/page.js?" (VERSION)} {}
            @if is_device { script type="module" src={"/assets/device.js?" (VERSION)} {} }
        }
    }
}

fn leave(caller: &Caller) -> Markup {
    html! {
        form.leave method="post" action="/leave" {
            (csrf(caller))
            button.quiet type="submit" title="End this browser's session" { "Leave" }
        }
    }
}

fn footer() -> Markup {
    html! {
        footer {
            span { "anyhook " (VERSION) }
            span.keys { kbd { "j" } " " kbd { "k" } " move, " kbd { "1" } "…" kbd { "9" } " answer, " kbd { "g" } " sections" }
        }
    }
}

/// The field that proves that a form is ours.
pub fn csrf(caller: &Caller) -> Markup {
    html! { input type="hidden" name="csrf" value=(caller.csrf()); }
}
