//! The workflows of this user. A program that was built without them has none.

use anyhook_model::report::workflow::{ListedWorkflow, WorkflowReport};

use crate::app::App;
use crate::error::PageError;

#[cfg(feature = "workflow")]
pub use with::{list, report, show, style, use_method};
#[cfg(not(feature = "workflow"))]
pub use without::{list, report};

/// A workflow.
#[cfg(feature = "workflow")]
#[derive(Debug)]
pub struct ShownWorkflow {
    /// Its status.
    pub report: WorkflowReport,
    /// Its project.
    pub project: String,
    /// Its graph, as SVG that needs the style of [`style`]; `None` if its definition has changed
    /// since it was started.
    pub graph: Option<String>,
}

#[cfg(feature = "workflow")]
mod with {
    use std::path::Path;
    use std::sync::{LazyLock, OnceLock};

    use anyhook_engine::Places;
    use anyhook_hook::daemon_start::start_in_background;
    use anyhook_workflow::caller::WorkflowCaller;
    use anyhook_workflow::error::WorkflowError;
    use anyhook_workflow::method::Method;
    use anyhook_workflow::registry::{self, EntryStatus};
    use anyhook_workflow::{graph, listing, report as status};

    use super::{App, ListedWorkflow, PageError, ShownWorkflow, WorkflowReport};
    use crate::app::blocking;

    static METHOD: OnceLock<&'static Method> = OnceLock::new();

    /// Sets the workflow of projects that have none of their own. Without it they are not listed.
    pub fn use_method(method: &'static Method) {
        // It is set once, when the daemon begins.
        let _ = METHOD.set(method);
    }

    fn caller(places: &Places) -> Option<WorkflowCaller> {
        Some(WorkflowCaller {
            work_dir: places.home.clone().unwrap_or_else(|| Path::new("/").to_owned()),
            places: places.clone(),
            agent: None,
            session: None,
            method: METHOD.get()?,
            start_daemon: start_in_background,
        })
    }

    /// Returns every workflow, the one that changed last first.
    pub async fn list(app: &App) -> Result<Vec<ListedWorkflow>, PageError> {
        let places = app.places.clone();
        blocking(move || {
            let Some(caller) = caller(&places) else { return Ok(Vec::new()) };
            let problem = |error: WorkflowError| error.to_string();
            Ok(listing::all(&caller, anyhook_engine::now(), &problem))
        })
        .await
    }

    /// Returns the status of one workflow.
    pub async fn report(app: &App, id: &str) -> Result<WorkflowReport, PageError> {
        show(app, id).await.map(|shown| shown.report)
    }

    /// Returns one workflow.
    pub async fn show(app: &App, id: &str) -> Result<ShownWorkflow, PageError> {
        let (places, id) = (app.places.clone(), id.to_owned());
        blocking(move || {
            let unknown = || PageError::unknown("workflow", &id).hint("anyhook workflow list");
            let caller = caller(&places).ok_or_else(unknown)?;
            let mut all = registry::list(&caller, anyhook_engine::now()).into_iter();
            let now = all.find_map(|listed| match &listed.now {
                EntryStatus::There(found) if found.1.id == id => Some(listed.now),
                EntryStatus::Unreadable(_) if listed.entry.id == id => Some(listed.now),
                _ => None,
            });
            match now.ok_or_else(unknown)? {
                EntryStatus::There(found) => {
                    let (project, state) = *found;
                    let fits = state.fits(&project.definition).is_none();
                    Ok(ShownWorkflow {
                        report: status::report(&project, &state),
                        graph: fits.then(|| graph::svg_of_page(&project.definition, Some(&state))),
                        project: project.root.display().to_string(),
                    })
                }
                EntryStatus::Unreadable(error) => {
                    Err(PageError::bad_request(error.to_string()).hint("anyhook workflow doctor"))
                }
                EntryStatus::Gone => Err(unknown()),
            }
        })
        .await
    }

    /// Returns the style of graphs: as everywhere, but for the graph of a page alone.
    pub fn style() -> &'static str {
        static STYLE: LazyLock<String> = LazyLock::new(|| scoped(graph::STYLE));
        &STYLE
    }

    /// Restricts every rule of a style to what is in a graph.
    fn scoped(style: &str) -> String {
        let scoped = |line: &str| match line.split_once('{') {
            Some((selectors, rest)) if !line.trim_start().starts_with('@') => {
                let all = selectors.split(',').map(|one| format!(".workflow-graph {}", one.trim()));
                format!("{} {{{rest}\n", all.collect::<Vec<_>>().join(", "))
            }
            _ => format!("{line}\n"),
        };
        style.lines().map(scoped).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_style_of_a_graph_touches_nothing_else() {
            let style =
                scoped("text { a: b; }\n.one, .two { c: d; }\n@media x {\n  .one { e: f; }\n}\n");
            let expected = ".workflow-graph text { a: b; }\n\
                            .workflow-graph .one, .workflow-graph .two { c: d; }\n\
                            @media x {\n.workflow-graph .one { e: f; }\n}\n";
            assert_eq!(style, expected);
            for line in super::style().lines().filter(|line| line.contains('{')) {
                assert!(line.starts_with('@') || line.starts_with(".workflow-graph "), "{line}");
            }
        }
    }
}

#[cfg(not(feature = "workflow"))]
mod without {
    use super::{App, ListedWorkflow, PageError, WorkflowReport};

    /// There are none.
    #[expect(clippy::unused_async, reason = "as where there are some")]
    pub async fn list(_: &App) -> Result<Vec<ListedWorkflow>, PageError> {
        Ok(Vec::new())
    }

    /// There is none.
    #[expect(clippy::unused_async, reason = "as where there are some")]
    pub async fn report(_: &App, id: &str) -> Result<WorkflowReport, PageError> {
        Err(PageError::unknown("workflow", id))
    }
}
