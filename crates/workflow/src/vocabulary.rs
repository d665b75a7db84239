//! The words that definitions, artifacts and the state share.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every one, with its word.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $word)),+];

            /// Returns its word.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Finds one by its word.
            pub fn find(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|(_, name)| *name == word).map(|(value, _)| *value)
            }
        }
    };
}

words! {
    /// How much of a system is made.
    Mode {
        /// A whole system, with an architecture of its own.
        FullSystem = "full_system",
        /// Something new in a system that is there.
        Feature = "feature",
        /// A fault of a system that is there.
        BugFix = "bug_fix",
        /// The same system, made otherwise.
        Refactor = "refactor",
    }
}

words! {
    /// How much harm may come of it; the later, the more.
    Risk {
        /// Hardly any.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Nobody has said.
        Unknown = "unknown",
        /// Much.
        High = "high",
        /// As much as there can be.
        Critical = "critical",
    }
}

words! {
    /// What a reviewer says.
    Verdict {
        /// It is good.
        Approve = "approve",
        /// It is good; there is something to know.
        ApproveWithNotes = "approve_with_notes",
        /// It is to be done again.
        NeedsChanges = "needs_changes",
        /// It is not to be done.
        Reject = "reject",
    }
}

words! {
    /// The test verdict.
    QaVerdict {
        /// It can be deployed.
        Approve = "approve",
        /// Bugs are to be mended.
        NeedsFixes = "needs_fixes",
        /// It does not do what it is for.
        MajorIssues = "major_issues",
    }
}

words! {
    /// How bad a bug is.
    Severity {
        /// Nothing works.
        P0 = "p0",
        /// Something that matters does not work.
        P1 = "p1",
        /// Something does not work.
        P2 = "p2",
        /// It could look better.
        P3 = "p3",
    }
}

words! {
    /// Where a stage is.
    StageStatus {
        /// Its turn has not come.
        Pending = "pending",
        /// Its agent works on it.
        InProgress = "in_progress",
        /// Its artifacts are there.
        Completed = "completed",
        /// Its artifacts are there, and something to know.
        CompletedWithWarnings = "completed_with_warnings",
        /// It cannot go on without a person.
        Blocked = "blocked",
        /// It is not needed.
        Skipped = "skipped",
        /// It was tried in vain.
        Failed = "failed",
        /// It was done, and is to be done again after an earlier one.
        RolledBack = "rolled_back",
    }
}

words! {
    /// Where a review is.
    ReviewStatus {
        /// The reviewer is busy with another.
        Pending = "pending",
        /// The reviewer works on it.
        InProgress = "in_progress",
        /// There is a verdict.
        Completed = "completed",
    }
}

words! {
    /// Where a workflow is.
    WorkflowStatus {
        /// Agents work.
        Running = "running",
        /// A person is asked.
        Paused = "paused",
        /// It cannot go on without a person.
        Blocked = "blocked",
        /// All is done.
        Completed = "completed",
        /// A stage failed.
        Failed = "failed",
        /// A person ended it.
        Aborted = "aborted",
    }
}

words! {
    /// What an agent says of its stage.
    SignalStatus {
        /// It is done.
        Completed = "completed",
        /// It is done; there is something to know.
        CompletedWithWarnings = "completed_with_warnings",
        /// It cannot go on.
        Blocked = "blocked",
        /// It tried in vain.
        Failed = "failed",
    }
}

words! {
    /// What a person is asked about a stage.
    Asks {
        /// Whether it may go on.
        Approval = "approval",
        /// What is to be done about bugs.
        Choice = "choice",
    }
}

words! {
    /// What a person decided about a stage.
    Decision {
        /// It may go on.
        Approved = "approved",
        /// It is to be done otherwise.
        Rejected = "rejected",
        /// The bugs are to be mended.
        Fix = "fix",
        /// It is good enough.
        DeployAnyway = "deploy_anyway",
        /// The workflow is to end.
        Abort = "abort",
    }
}

words! {
    /// When a person is asked for approval.
    When {
        /// Before the stage begins.
        Before = "before",
        /// When its artifacts are there.
        After = "after",
    }
}

words! {
    /// What is done when a stage failed as often as it may.
    OnFailure {
        /// The workflow fails.
        Fail = "fail",
        /// A person is needed.
        Block = "block",
        /// An earlier stage is done again.
        Rollback = "rollback",
    }
}
