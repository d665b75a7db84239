//! Partial decoding of large payloads: decoded in full only where a hook may see them.
//!
//! What is large in a payload is nearly always one text or one list in a tool's input or output,
//! and nearly always no hook is concerned. So the beginnings of such values are read first; if no
//! hook that is due can match, neither by them nor by what was left out, that is the event. It then
//! goes through the same steps as any other, and its record has the payload as received.
//!
//! In every other case the payload is read in full, so that large values affect nothing but time
//! and memory.

use std::cell::OnceCell;

use anyhook_model::json::{Abridged, Cut, FieldRole, abridge};
use anyhook_model::{Caller, Event, EventKind, Host, ToolCall, tools};
use serde_json::Value;

use super::Engine;
use super::decode::{Partial, decode_all};
use crate::matcher::CallTexts;
use crate::path_forms;
use crate::plan::{DispatchPlan, NotRunnable, PlannedStep};
use crate::settings::DispatchSettings;
use crate::summary::{LONG, summary};

/// Payloads longer than this are decoded in part first.
pub(super) const LARGE: usize = 64 * 1024;

impl Engine {
    /// Decodes a payload in part, if no hook can match what it calls.
    pub(super) fn decode_partly(
        &self,
        host: &dyn Host,
        payload: &[u8],
        caller: &Caller,
        settings: &DispatchSettings,
    ) -> Option<(Event, Partial)> {
        let text = str::from_utf8(payload).ok()?;
        // As much as the digest of a call is computed from: a call whose input was cut has none.
        let Abridged { text, cuts } = abridge(text, host.opaque_fields(), LONG)?;
        if cuts.is_empty() {
            return None;
        }
        let [mut event] =
            <[Event; 1]>::try_from(decode_all(host, text.as_bytes(), caller).ok()?).ok()?;
        drop(text);
        // A person may be asked about a permission, and would have to see all of it.
        let is_plain = matches!(
            event.kind,
            EventKind::BeforeTool | EventKind::AfterTool | EventKind::AfterToolFailure
        );
        let call = event.tool.as_ref().filter(|_| is_plain)?;
        // Without an id, a call is identified by its whole input; a patch is made of what is in its
        // text.
        if call.use_id.is_none() || call.fixed.is_some() || event.doubt.is_some() {
            return None;
        }
        // Where a path leads depends on all of it, and a patch may be in what was left out.
        let paths = call.files.as_array().into_iter().flatten().filter_map(Value::as_str);
        let seeming = tools::seeming_paths(&call.name, &call.input);
        let is_cut = paths.chain(seeming.texts).any(|path| path.len() >= LONG)
            || cuts.iter().any(|cut| cut.raw.contains("*** "));
        // Only the beginning of a list is available: what follows may be a path or a command by the
        // name of its field.
        let is_list = seeming.is_list || tools::has_command_in_parts(&call.input);
        let are_fields_cut = cuts.iter().any(|cut| {
            cut.role != FieldRole::Other
                && cut.head().is_none()
                && (is_list || tools::may_have_telling_field(cut.raw))
        });
        if is_cut || are_fields_cut {
            return None;
        }
        let roots = self.known_roots(&event);
        self.set_place(&mut event, roots.pinned.as_deref());
        path_forms::resolve(&event);
        let call = event.tool.as_ref()?;
        let leaves = OnceCell::from(leaves(call, &cuts));
        let hooks = self.find_hooks(roots, &event, self.by_index, &leaves, settings);
        if self.may_be_remembered(&event, &hooks) {
            return None;
        }
        let plan = DispatchPlan::new(&hooks.installed, &event);
        let leaves = leaves.into_inner()?;
        if plan.steps.iter().any(|step| may_match(step, call, &leaves)) {
            return None;
        }
        let about = summary(&event, &cuts);
        Some((event, Partial { hooks, about }))
    }
}

/// Returns the texts of a call that was cut.
///
/// What was left out is treated as one text, with the names and punctuation between its values:
/// this may find a literal where there is none, which costs a full parse, but misses none that is
/// there.
fn leaves<'call>(call: &'call ToolCall, cuts: &[Cut<'call>]) -> CallTexts<'call> {
    let mut leaves = CallTexts::of(call);
    for cut in cuts.iter().filter(|cut| cut.role != FieldRole::Other) {
        leaves.add_json_string(cut.raw);
    }
    leaves
}

/// Returns whether a hook may have its turn.
fn may_match(step: &PlannedStep<'_>, call: &ToolCall, leaves: &CallTexts<'_>) -> bool {
    let is_asked = !matches!(step.broken, Some(NotRunnable::Unusable(_)));
    !is_asked || step.hook.matcher.may_match(call, leaves)
}
