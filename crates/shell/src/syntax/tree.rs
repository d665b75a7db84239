//! What a line says before anything is expanded.

use std::rc::Rc;

/// Commands one after the other.
pub type List = Vec<Item>;

/// A pipeline and how it depends on the one before.
#[derive(Debug)]
pub struct Item {
    pub pipeline: Vec<Command>,
    pub join: Join,
}

/// What stands before a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// The beginning, `;`, `&` or a line break.
    Then,
    And,
    Or,
}

#[derive(Debug)]
pub enum Command {
    Simple(Simple),
    Compound(Compound, Vec<RedirectionSyntax>),
    Function { name: String, body: Rc<Command> },
}

#[derive(Debug)]
pub enum Compound {
    Group(List),
    Subshell(List),
    /// Conditions and bodies in order: each may run, or not.
    Branches(Vec<List>),
    Loop {
        condition: List,
        body: List,
    },
    For {
        name: String,
        values: Option<Vec<WordSyntax>>,
        body: List,
        body_text: String,
    },
    Case {
        subject: WordSyntax,
        arms: Vec<(Vec<WordSyntax>, List)>,
    },
    /// `[[ … ]]`
    Test(Vec<WordSyntax>),
    /// `(( … ))`
    Arithmetic(Vec<Piece>),
}

#[derive(Debug, Default)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Argument>,
    pub redirections: Vec<RedirectionSyntax>,
}

/// A word, or an assignment behind `export`, `declare` and others.
#[derive(Debug)]
pub enum Argument {
    Word(WordSyntax),
    Array(Assignment),
}

#[derive(Debug)]
pub struct Assignment {
    pub name: String,
    pub append: bool,
    /// `name[…]=`: one element.
    pub element: bool,
    pub value: AssignedValue,
}

#[derive(Debug)]
pub enum AssignedValue {
    Scalar(WordSyntax),
    Array(Vec<WordSyntax>),
}

#[derive(Debug)]
pub struct RedirectionSyntax {
    /// The number or name before the operator.
    pub descriptor: Option<String>,
    pub operator: Operator,
    pub target: TargetSyntax,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Read,
    Write,
    Append,
    ReadWrite,
    Duplicate,
    /// `&>` and `>&` with a file: both outputs.
    WriteBoth,
    AppendBoth,
    HereString,
    HereDocument,
}

#[derive(Debug)]
pub enum TargetSyntax {
    Word(WordSyntax),
    /// The number of the here-document's body.
    Body(usize),
}

/// A word in pieces.
pub type WordSyntax = Vec<Piece>;

#[derive(Debug)]
pub enum Piece {
    Text {
        text: String,
        quoted: bool,
    },
    Parameter {
        parameter: Box<Parameter>,
        quoted: bool,
        source: String,
    },
    Substitution {
        list: List,
        quoted: bool,
        source: String,
    },
    /// `<(…)` or `>(…)`
    Process {
        list: List,
        source: String,
    },
    Arithmetic {
        inner: Vec<Piece>,
        source: String,
    },
    /// Something that cannot be told.
    Gap {
        source: String,
    },
}

#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub index: Index,
    pub length: bool,
    pub indirect: bool,
    pub operation: Operation,
}

#[derive(Debug)]
pub enum Index {
    None,
    All,
    One(WordSyntax),
}

#[derive(Debug)]
pub enum Operation {
    None,
    /// `:-`, `-`, `:=`, `=`
    Default {
        word: WordSyntax,
        colon: bool,
        assign: bool,
    },
    /// `:+`, `+`
    Alternative(WordSyntax),
    /// `#`, `##`, `%`, `%%`
    Remove {
        word: WordSyntax,
        suffix: bool,
    },
    /// `/`, `//`
    Replace {
        pattern: WordSyntax,
        replacement: WordSyntax,
        all: bool,
    },
    /// `^^`, `,,`
    Case {
        upper: bool,
    },
    Substring {
        from: WordSyntax,
        length: Option<WordSyntax>,
    },
    /// `?`: the value, or an error with this text.
    Required(WordSyntax),
    /// Anything else.
    Other(WordSyntax),
}
