//! Tools that a model may call, with a JSON Schema generated from a type.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::function::BoxFuture;

/// The description of a tool for the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolDescription {
    /// The tool's name. The canonical ones (`Shell`, `WriteFile`, …) let hooks written for other
    /// agents match.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Why a tool gave no result. The model is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The arguments are invalid.
    #[error("invalid arguments: {0}")]
    Arguments(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// There is no such tool.
    #[error("there is no tool `{0}`")]
    Unknown(String),
    /// A hook denied the call.
    #[error("{0}")]
    Denied(String),
    /// It took too long.
    #[error("it took longer than {0} ms")]
    TimedOut(u64),
}

/// A tool.
pub trait Tool: Send + Sync {
    /// Describes it.
    fn describe(&self) -> ToolDescription;

    /// Calls it.
    fn call(&self, input: Value) -> BoxFuture<'_, Result<Value, ToolError>>;
}

type ToolFunction = dyn Fn(Value) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool made from a function; its schema is generated from the type of its arguments.
#[derive(Clone)]
pub struct FunctionTool {
    description: ToolDescription,
    function: Arc<ToolFunction>,
}

impl FunctionTool {
    /// Makes a tool from an async function, an async closure, or a closure that returns a future.
    pub fn new<Arguments, Output, F, Returned>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        Arguments: DeserializeOwned + JsonSchema,
        Output: Serialize,
        F: Fn(Arguments) -> Returned + Send + Sync + 'static,
        Returned: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        Self {
            description: ToolDescription {
                name: name.into(),
                description: description.into(),
                schema: schemars::schema_for!(Arguments).to_value(),
            },
            function: Arc::new(move |input| {
                // Called here, where the tool is: only its result moves into the future.
                let called = serde_json::from_value(input)
                    .map(&function)
                    .map_err(|error| ToolError::Arguments(error.to_string()));
                Box::pin(async move {
                    let output = called?.await?;
                    serde_json::to_value(output)
                        .map_err(|error| ToolError::Failed(error.to_string()))
                })
            }),
        }
    }
}

impl Tool for FunctionTool {
    fn describe(&self) -> ToolDescription {
        self.description.clone()
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        (self.function)(input)
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FunctionTool").field(&self.description).finish()
    }
}
