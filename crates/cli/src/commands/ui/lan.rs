//! `anyhook ui --lan`: serves the page in the network, and pairs a device.
//!
//! Nothing that the phone's page shows can tell a person who serves it. So they are asked for what
//! only the phone's browser itself shows, the certificate's fingerprint, and then for the code.

use std::io::{BufRead, IsTerminal, Write};

use anyhook_model::daemon::{
    LanPage, OpenLan, PairDevice, PairingLink, PairingState, PairingStep, Request, Response,
};
use anyhook_model::exit_code;
use anyhook_socket::{Client, ClientError};
use anyhook_ui::fingerprint::FingerprintQuestion;

use super::{UiArgs, qr_code};
use crate::commands::CommandResult;
use crate::daemon::connect;
use crate::environment::{Environment, user_name};
use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// How often the fingerprint may be mistyped.
const TRIES: usize = 3;

/// Serves the page in the network and, unless JSON is wanted, pairs a device.
pub fn serve(arguments: &UiArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut client = connect(environment)?;
    let request = Request::OpenLan(OpenLan {
        address: arguments.address.map(|address| address.to_string()),
        port: arguments.port,
        pair: !arguments.json,
        by: user_name(),
    });
    let Response::Lan(lan) = client.request(&request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    if arguments.json {
        out.json(&lan)?;
        return Ok(exit_code::OK);
    }
    let Some(link) = &lan.pairing else { return Err(ClientError::NoAnswer.into()) };
    show(&lan, link, out)?;
    let mut pairing = Pairing { client, id: &link.id };
    let paired = pairing.go(&lan, out);
    if paired.is_err() {
        // The device must not wait for someone who has gone.
        let _ = pairing.step(PairingStep::Cancel);
    }
    let name = paired?;
    out.line(&[(Tone::Good, "paired: "), (Tone::Strong, &name)])?;
    Ok(exit_code::OK)
}

fn show(lan: &LanPage, link: &PairingLink, out: &mut Out) -> Result<(), CommandError> {
    let columns = std::io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten()
        .map(|(width, _)| usize::from(width.0));
    let code = columns.and_then(|columns| qr_code::lines(&link.link, columns));
    let within = format!("within {} s", link.seconds);
    match code {
        Some(lines) => {
            out.text(&format!("scan this with the phone's camera, {within}, or open the link:"))?;
            for line in lines {
                out.as_it_is(&line)?;
            }
        }
        None => out.text(&format!("open this link on the phone, {within}:"))?,
    }
    out.line(&[(Tone::Strong, &link.link)])?;
    if columns.is_none() {
        out.line(&[
            (Tone::Plain, "fingerprint of the certificate (SHA-256): "),
            (Tone::Strong, &lan.fingerprint),
        ])?;
    }
    out.text("the phone's browser warns that it does not know the certificate: look at its")?;
    out.text("SHA-256 fingerprint there before you continue; you are asked for parts of it")?;
    out.flush()?;
    Ok(())
}

struct Pairing<'pairing> {
    client: Client,
    id: &'pairing str,
}

impl Pairing<'_> {
    fn step(&mut self, step: PairingStep) -> Result<PairingState, CommandError> {
        let pair = PairDevice { id: self.id.to_owned(), step, by: user_name() };
        match self.client.request(&Request::PairDevice(pair))? {
            Response::Pairing(state) => Ok(state),
            _ => Err(ClientError::NoAnswer.into()),
        }
    }

    /// Returns the name of the device that was paired.
    fn go(&mut self, lan: &LanPage, out: &mut Out) -> Result<String, CommandError> {
        let name = loop {
            match self.step(PairingStep::Wait)? {
                PairingState::Waiting => {}
                PairingState::Arrived { name } => break name,
                _ => return Err(not_paired("the pairing has ended")),
            }
        };
        out.line(&[(Tone::Strong, &name), (Tone::Plain, " wants to be paired")])?;
        out.flush()?;
        check_certificate(lan)?;
        loop {
            let code = asked("the code on the phone's page: ")?;
            match self.step(PairingStep::Confirm { code })? {
                PairingState::Paired { name } => return Ok(name),
                PairingState::WrongCode { left } => {
                    let left = format!("this is another code ({left} more tries)");
                    Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &left)])?;
                }
                _ => return Err(not_paired("the pairing has ended")),
            }
        }
    }
}

/// Asks for parts of the fingerprint, as the phone's browser shows it.
fn check_certificate(lan: &LanPage) -> Result<(), CommandError> {
    let question = FingerprintQuestion::new(&lan.fingerprint);
    let question = question.ok_or_else(|| not_paired("the daemon sent no fingerprint"))?;
    let mut stderr = Out::stderr();
    stderr.text("the fingerprint that the phone's browser shows has to be this one:")?;
    for line in question.lines() {
        stderr.line(&[(Tone::Plain, "  "), (Tone::Strong, &line)])?;
    }
    for _ in 0..TRIES {
        if question.is_answer(&asked("the pairs that are missing here: ")?) {
            return Ok(());
        }
        stderr.line(&[(Tone::Warn, "warning: "), (Tone::Plain, "these are others")])?;
    }
    let error = not_paired("the phone was shown another certificate");
    Err(error.hint("someone may be between the phone and this machine: try it in another network"))
}

fn not_paired(why: &str) -> CommandError {
    CommandError::problem(format!("no device was paired: {why}")).hint("anyhook ui --lan")
}

/// Asks on standard error; the end of the input is a no.
fn asked(question: &str) -> Result<String, CommandError> {
    Out::stderr().pieces(&[(Tone::Strong, question)])?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(not_paired("nobody answered"));
    }
    Ok(answer)
}
