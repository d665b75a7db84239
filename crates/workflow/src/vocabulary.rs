//! The vocabulary that definitions, artifacts and the state share.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every variant, with its word.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$variant, $word)),+];

            /// Returns its word.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Finds a variant by its word.
            pub fn find(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|(_, name)| *name == word).map(|(value, _)| *value)
            }
        }
    };
}

words! {
    /// The scope of the work on a system.
    Mode {
        /// A whole system, with an architecture of its own.
        FullSystem = "full_system",
        /// Something new in an existing system.
        Feature = "feature",
        /// A fault of an existing system.
        BugFix = "bug_fix",
        /// The same system with a different implementation.
        Refactor = "refactor",
    }
}

words! {
    /// The risk of harm, from low to high.
    Risk {
        /// Hardly any.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// No one has said.
        Unknown = "unknown",
        /// Much.
        High = "high",
        /// The highest.
        Critical = "critical",
    }
}

words! {
    /// What a reviewer says.
    Verdict {
        /// It is accepted.
        Approve = "approve",
        /// It is accepted, with notes.
        ApproveWithNotes = "approve_with_notes",
        /// It must be repeated with changes.
        NeedsChanges = "needs_changes",
        /// It is rejected.
        Reject = "reject",
    }
}

words! {
    /// The test verdict.
    QaVerdict {
        /// It can be deployed.
        Approve = "approve",
        /// Bugs must be fixed.
        NeedsFixes = "needs_fixes",
        /// It does not fulfil its purpose.
        MajorIssues = "major_issues",
    }
}

words! {
    /// How bad a bug is.
    Severity {
        /// Nothing works.
        P0 = "p0",
        /// Something important does not work.
        P1 = "p1",
        /// Something does not work.
        P2 = "p2",
        /// It could look better.
        P3 = "p3",
    }
}

words! {
    /// The status of a stage.
    StageStatus {
        /// Its turn has not come.
        Pending = "pending",
        /// Its agent is working on it.
        InProgress = "in_progress",
        /// Its artifacts exist.
        Completed = "completed",
        /// Its artifacts exist, with warnings.
        CompletedWithWarnings = "completed_with_warnings",
        /// It cannot continue without a person.
        Blocked = "blocked",
        /// It is not needed.
        Skipped = "skipped",
        /// All attempts failed.
        Failed = "failed",
        /// It was done, and must be repeated after an earlier one.
        RolledBack = "rolled_back",
    }
}

words! {
    /// The status of a review.
    ReviewStatus {
        /// The reviewer is busy with another one.
        Pending = "pending",
        /// The reviewer is working on it.
        InProgress = "in_progress",
        /// There is a verdict.
        Completed = "completed",
    }
}

words! {
    /// The status of a workflow.
    WorkflowStatus {
        /// Agents work.
        Running = "running",
        /// A person is asked.
        Paused = "paused",
        /// It cannot continue without a person.
        Blocked = "blocked",
        /// Everything is done.
        Completed = "completed",
        /// A stage failed.
        Failed = "failed",
        /// A person aborted it.
        Aborted = "aborted",
    }
}

words! {
    /// What an agent reports about its stage.
    SignalStatus {
        /// It is done.
        Completed = "completed",
        /// It is done, with warnings.
        CompletedWithWarnings = "completed_with_warnings",
        /// It cannot continue.
        Blocked = "blocked",
        /// It failed.
        Failed = "failed",
    }
}

words! {
    /// The question for a person about a stage.
    Asks {
        /// Whether it may continue.
        Approval = "approval",
        /// What to do about bugs.
        Choice = "choice",
    }
}

words! {
    /// What a person decided about a stage.
    Decision {
        /// It may continue.
        Approved = "approved",
        /// It must be done differently.
        Rejected = "rejected",
        /// The bugs must be fixed.
        Fix = "fix",
        /// It is good enough.
        DeployAnyway = "deploy_anyway",
        /// The workflow is aborted.
        Abort = "abort",
    }
}

words! {
    /// When a person is asked for approval.
    When {
        /// Before the stage begins.
        Before = "before",
        /// When its artifacts exist.
        After = "after",
    }
}

words! {
    /// What happens when a stage has used up its attempts.
    OnFailure {
        /// The workflow fails.
        Fail = "fail",
        /// A person is needed.
        Block = "block",
        /// An earlier stage is repeated.
        Rollback = "rollback",
    }
}
