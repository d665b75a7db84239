//! An operation of the API: what a program is told of it, and what answers it.

use std::sync::Arc;

use axum::routing::MethodRouter;

use crate::app::App;
use crate::tokens::Scope;

/// An operation of the API.
#[derive(Debug)]
pub struct Operation {
    /// Its name, unique.
    pub id: &'static str,
    /// Its method, in lower case.
    pub method: &'static str,
    /// Its path below `/api/v1`, with the names of parameters in braces.
    pub path: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// What a token must be for.
    pub scope: Scope,
    /// The parameters in its path and its query.
    pub parameters: &'static [Parameter],
    /// The type of its body.
    pub body: Option<TypeName>,
    /// What it returns.
    pub returns: Returned,
    /// What answers it.
    pub answers: MethodRouter<Arc<App>>,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What its value may be.
    pub kind: ParameterKind,
    /// Whether it is in the path.
    pub is_in_path: bool,
}

/// What the value of a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A text that matches an expression.
    Pattern(&'static str),
    /// One of some words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A number in a range.
    Number(u64, u64),
}

/// How long ago: what a program should use. Days and times are read, too, as on the command line.
const AGO: &str = "^[0-9]{1,4}[smhd]$";

impl Parameter {
    const fn of_query(name: &'static str, about: &'static str, kind: ParameterKind) -> Self {
        Self { name, about, kind, is_in_path: false }
    }

    /// A part of the path.
    pub const fn path(name: &'static str, about: &'static str) -> Self {
        Self { name, about, kind: ParameterKind::Text, is_in_path: true }
    }

    /// A parameter of the query, a text.
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self::of_query(name, about, ParameterKind::Text)
    }

    /// A parameter of the query, a text that matches an expression.
    pub const fn pattern(name: &'static str, about: &'static str, is: &'static str) -> Self {
        Self::of_query(name, about, ParameterKind::Pattern(is))
    }

    /// A parameter of the query, a time.
    pub const fn time(name: &'static str, about: &'static str) -> Self {
        Self::of_query(name, about, ParameterKind::Pattern(AGO))
    }

    /// A parameter of the query, one of some words.
    pub const fn word(
        name: &'static str,
        about: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self::of_query(name, about, ParameterKind::Word(words))
    }

    /// A parameter of the query, `true` or `false`.
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self::of_query(name, about, ParameterKind::Flag)
    }

    /// A parameter of the query, a number.
    pub const fn number(name: &'static str, about: &'static str) -> Self {
        Self::of_query(name, about, ParameterKind::Number(0, u64::MAX))
    }

    /// A parameter of the query, a number in a range.
    pub const fn bounded(name: &'static str, about: &'static str, least: u64, most: u64) -> Self {
        Self::of_query(name, about, ParameterKind::Number(least, most))
    }
}

/// What an operation returns.
#[derive(Clone, Copy, Debug)]
pub enum Returned {
    /// A value of a type, as JSON.
    Json(TypeName),
    /// A list of values of a type, as JSON.
    List(TypeName),
    /// Server-sent events, each with a value of a type.
    Events(TypeName),
    /// Any JSON.
    AnyJson,
}

/// A type of the model, by which the description names it.
#[derive(Clone, Copy)]
pub struct TypeName {
    /// Its name.
    pub name: &'static str,
    /// Its schema.
    #[cfg(feature = "schema")]
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

impl std::fmt::Debug for TypeName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Names a type for the description.
macro_rules! type_name {
    ($type:ty) => {
        $crate::api::operation::TypeName {
            name: stringify!($type),
            #[cfg(feature = "schema")]
            schema: |generator| generator.subschema_for::<$type>(),
        }
    };
}

pub(crate) use type_name;
