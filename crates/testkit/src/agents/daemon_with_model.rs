//! Runs the daemon in a network that has nothing but the scripted model: agents that it starts are
//! in it, too.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

use super::{AgentSandbox, namespace};
use crate::model_server::{ModelServer, ModelTurn};
use crate::{CommandRun, begin, run};

/// A daemon with a model. It is killed with its child processes when dropped.
#[derive(Debug)]
pub struct DaemonWithModel {
    model: ModelServer,
    child: Child,
    line: Option<UnixStream>,
    variables: Vec<(OsString, OsString)>,
}

impl DaemonWithModel {
    pub(super) fn start(bed: &AgentSandbox, script: Vec<ModelTurn>) -> Self {
        let program = bed.environment().command(&[]);
        let program = program.get_program().to_string_lossy().into_owned();
        let command = [program, "daemon".to_owned(), "start".to_owned()];
        let mut runner = namespace::open_runner(&command);
        bed.set_up(&mut runner);
        let variables = runner
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let namespace::NamespacedProcess { process, socket, line } = namespace::spawn(runner);
        let model = ModelServer::on(socket, script);
        let around = Self { model, child: process, line: Some(line), variables };
        let mut answer = [0];
        around.line.as_ref().unwrap().read_exact(&mut answer).unwrap();
        assert_eq!(answer, [b'+'], "the daemon could not be started");
        around
    }

    /// Returns the model the agents talk to.
    pub fn model(&self) -> &ModelServer {
        &self.model
    }

    /// Runs the program under test with the variables of the agent.
    pub fn run(&self, bed: &AgentSandbox, arguments: &[&str]) -> CommandRun {
        run(self.command(bed, arguments), b"")
    }

    /// Starts the program under test this way; its end is awaited later.
    pub fn begin(&self, bed: &AgentSandbox, arguments: &[&str]) -> Child {
        begin(self.command(bed, arguments), b"")
    }

    fn command(&self, bed: &AgentSandbox, arguments: &[&str]) -> Command {
        let mut command: Command = bed.environment().command(arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Drop for DaemonWithModel {
    fn drop(&mut self) {
        if self.line.take().is_some() {
            drop(self.child.wait());
        }
    }
}
