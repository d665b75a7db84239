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
    /// The JSON type of its value.
    pub kind: &'static str,
    /// Whether it is in the path.
    pub is_in_path: bool,
}

impl Parameter {
    /// A part of the path.
    pub const fn path(name: &'static str, about: &'static str) -> Self {
        Self { name, about, kind: "string", is_in_path: true }
    }

    /// A parameter of the query, a text.
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, about, kind: "string", is_in_path: false }
    }

    /// A parameter of the query, `true` or `false`.
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self { name, about, kind: "boolean", is_in_path: false }
    }

    /// A parameter of the query, a number.
    pub const fn number(name: &'static str, about: &'static str) -> Self {
        Self { name, about, kind: "integer", is_in_path: false }
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
