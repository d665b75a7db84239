//! Reads agents' own hooks from the text of a settings file, takes them out and puts them back.

use std::path::Path;

use anyhook_model::json::Object;
use jsonc_parser::cst::{CstArray, CstNode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{HandlerPlace, Layout, NativeFormat, NativeHook};
use crate::wiring::json_hooks::{
    input, parse, rejoin_last_line, remove_if_empty, to_value, top, value, with_mark_of,
};
use crate::wiring::{SettingsError, is_ours};

/// A hook that was taken out of a settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parked {
    /// The agent's name for the event.
    pub event: String,
    /// The fields of its group except for the handlers, if it was in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Object>,
    /// The handler, as it was written.
    pub handler: Value,
}

impl From<&NativeHook> for Parked {
    fn from(hook: &NativeHook) -> Self {
        let NativeHook { event, group, handler, .. } = hook.clone();
        Self { event, group, handler }
    }
}

/// Reads the hooks that are not ours.
pub fn read(
    format: &NativeFormat,
    path: &Path,
    text: &str,
) -> Result<Vec<NativeHook>, SettingsError> {
    let whole = value(path, text, &[])?.unwrap_or_default();
    let is_off = |(keys, off): &&(&[&str], bool)| {
        keys.iter().try_fold(&whole, |value, key| value.get(*key)) == Some(&Value::Bool(*off))
    };
    let switch =
        format.switches.iter().find(is_off).map(|(keys, off)| {
            format!("hooks are switched off here: `{}` is {off}", keys.join("."))
        });
    let hooks = match whole.get("hooks") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(hooks)) => hooks,
        Some(_) => {
            return Err(SettingsError::Unexpected {
                path: path.to_owned(),
                what: "`hooks`".to_owned(),
                expected: "an object",
            });
        }
    };
    let mut found = Vec::new();
    for (event, listed) in hooks {
        if format.other_keys.contains(&event.as_str()) {
            continue;
        }
        for (group, whole_group) in listed.as_array().into_iter().flatten().enumerate() {
            let listed = whole_group.get("hooks").and_then(Value::as_array);
            let handlers: Vec<&Value> = match (format.layout, listed) {
                (Layout::Flat, None) => vec![whole_group],
                (_, listed) => listed.into_iter().flatten().collect(),
            };
            for (handler, written) in handlers.into_iter().enumerate() {
                let place = HandlerPlace { group, handler };
                found.extend(one(format, path, event, place, whole_group, written));
            }
        }
    }
    for hook in &mut found {
        if let Some(why) = &switch {
            hook.command = Err(why.clone());
        }
    }
    Ok(found)
}

/// Reads one hook, unless it is ours.
fn one(
    format: &NativeFormat,
    path: &Path,
    event: &str,
    place: HandlerPlace,
    group: &Value,
    handler: &Value,
) -> Option<NativeHook> {
    let fields = handler.as_object().cloned().unwrap_or_default();
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let line = ["command", "bash"].into_iter().find_map(text);
    if line.is_some_and(|line| is_ours(line, format.host)) {
        return None;
    }
    // In a flat list, the handler itself is listed, unless it is in a group.
    let mut group = group.as_object().filter(|_| *group != *handler).cloned();
    if let Some(group) = &mut group {
        group.remove("hooks");
    }
    let matcher = group.as_ref().unwrap_or(&fields).get("matcher");
    let matcher = matcher.and_then(Value::as_str).map(str::to_owned);
    let label = line.or_else(|| text("url")).or_else(|| text("prompt")).or_else(|| text("type"));
    let command = match format.event(event) {
        None => Err(format!("anyhook is not asked at {}'s event `{event}`", format.title)),
        Some(_) if !handler.is_object() => Err("it is no object".to_owned()),
        Some(event) => (format.command)(event, &fields),
    };
    let command = match group.as_ref().and_then(|group| group.get("sequential")) {
        Some(Value::Bool(true)) => {
            Err("its group passes the output of each hook to the next (`sequential`)".to_owned())
        }
        _ => command,
    };
    Some(NativeHook {
        file: path.to_owned(),
        event: event.to_owned(),
        place,
        group,
        matcher,
        label: label.unwrap_or("(nothing)").to_owned(),
        handler: handler.clone(),
        command,
    })
}

/// Takes handlers out of a settings file, and what contained only them; the rest keeps its place,
/// comments and form.
pub fn park(
    format: &NativeFormat,
    path: &Path,
    text: &str,
    leaving: &[(&str, HandlerPlace)],
) -> Result<String, SettingsError> {
    let root = parse(path, text)?;
    let Some(hooks) = top(path, &root)?.object_value("hooks") else { return Ok(text.to_owned()) };
    // Readers of JSON take the last of two members, editors the first.
    let names: Vec<String> =
        hooks.properties().iter().map(|event| event.decoded_name().unwrap_or_default()).collect();
    let is_twice = |(index, name): &(usize, &String)| names[..*index].contains(name);
    if let Some((_, name)) = names.iter().enumerate().find(is_twice) {
        let what = format!("`hooks.{name}`");
        return Err(SettingsError::Unexpected { path: path.to_owned(), what, expected: "unique" });
    }
    for event in hooks.properties() {
        let name = event.decoded_name().unwrap_or_default();
        let leaves = |group: usize, handler: usize| {
            leaving.contains(&(name.as_str(), HandlerPlace { group, handler }))
        };
        let Some(list) = event.array_value() else { continue };
        if !leaving.iter().any(|(event, _)| *event == name) {
            continue;
        }
        for (index, group) in list.elements().into_iter().enumerate() {
            let handlers = handlers_of(format, &group);
            let is_leaving = |(handler, _): &(usize, &CstNode)| leaves(index, *handler);
            let gone: Vec<CstNode> = handlers
                .iter()
                .enumerate()
                .filter(is_leaving)
                .map(|(_, node)| node.clone())
                .collect();
            if !gone.is_empty() && gone.len() == handlers.len() {
                group.remove();
            } else {
                gone.into_iter().for_each(CstNode::remove);
            }
        }
        if list.elements().is_empty() {
            event.remove();
        } else {
            rejoin_last_line(&list.children());
        }
    }
    remove_if_empty(path, &root, "hooks")?;
    Ok(with_mark_of(Some(text), root.to_string()))
}

fn handlers_of(format: &NativeFormat, group: &CstNode) -> Vec<CstNode> {
    let handlers: Option<CstArray> = group.as_object().and_then(|group| group.array_value("hooks"));
    match (format.layout, handlers) {
        (Layout::Flat, None) => vec![group.clone()],
        (_, handlers) => handlers.map(|handlers| handlers.elements()).unwrap_or_default(),
    }
}

/// Puts handlers back into a settings file, at the end of their event, except for those that are
/// there.
pub fn unpark(
    format: &NativeFormat,
    path: &Path,
    text: Option<&str>,
    parked: &[Parked],
) -> Result<String, SettingsError> {
    let root = parse(path, text.unwrap_or(""))?;
    let top = top(path, &root)?;
    if text.is_none() && format.layout == Layout::Flat {
        top.insert(0, "version", input(&json!(1)));
    }
    let unexpected = |what: String, expected: &'static str| SettingsError::Unexpected {
        path: path.to_owned(),
        what,
        expected,
    };
    let hooks = top
        .object_value_or_create("hooks")
        .ok_or_else(|| unexpected("`hooks`".to_owned(), "an object"))?;
    for one in parked {
        let list = hooks
            .array_value_or_create(&one.event)
            .ok_or_else(|| unexpected(format!("`hooks.{}`", one.event), "a list"))?;
        let back = match &one.group {
            None => one.handler.clone(),
            Some(group) => {
                let mut group = group.clone();
                group.insert("hooks".to_owned(), json!([one.handler]));
                Value::Object(group)
            }
        };
        let is_there = |node: &CstNode| {
            let there = to_value(node).unwrap_or_default();
            let Some(group) = &one.group else { return there == back };
            let mut fields = there.as_object().cloned().unwrap_or_default();
            let handlers = fields.remove("hooks").unwrap_or_default();
            let has = |list: &Vec<Value>| list.contains(&one.handler);
            fields == *group && handlers.as_array().is_some_and(has)
        };
        if !list.elements().iter().any(is_there) {
            list.append(input(&back));
        }
    }
    let mut after = root.to_string();
    if text.is_none() && !after.ends_with('\n') {
        after.push('\n');
    }
    Ok(with_mark_of(text, after))
}
