//! `anyhook ui`: opens the page in the browser, and manages the tokens of its API.

mod device;
mod lan;
mod qr_code;

use std::net::IpAddr;
use std::process::{Command, Stdio};

use anyhook_engine::now;
use anyhook_model::daemon::{OpenPage, PageLink, Request, Response};
use anyhook_model::{StateDir, exit_code};
use anyhook_socket::ClientError;
use anyhook_ui::tokens::{Scope, Token, TokenError, TokenStore};
use clap::{Args, Subcommand};

use super::CommandResult;
use crate::daemon::{connect, connect_if_it_runs};
use crate::environment::{Environment, user_name, variable};
use crate::error::CommandError;
use crate::human_only::by_a_person;
use crate::ui::{Cell, Out, Tone, format};

/// Open the page in the browser: agents, and what waits for your answer
///
/// The daemon serves it on this machine alone; `--lan` lets a paired phone in, too. The link opens
/// the page in one browser, once; that browser may then use it until nobody has for a week.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: anyhook ui\n         anyhook ui --no-open\n         anyhook ui --lan\n         anyhook ui token add my-script"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct UiArgs {
    #[command(subcommand)]
    command: Option<UiCommand>,
    /// Print the link, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Stop serving the page; every browser has to be let in again
    #[arg(long, conflicts_with = "no_open")]
    stop: bool,
    /// Serve the page in the local network, encrypted, and pair a phone with it
    #[arg(long, conflicts_with_all = ["no_open", "stop"])]
    lan: bool,
    /// The address of this machine to serve it at; the private one that leads to the network, if
    /// absent
    #[arg(long, requires = "lan", value_name = "IP")]
    address: Option<IpAddr>,
    /// The port; that of last time, if absent
    #[arg(long, requires = "lan", value_name = "N")]
    port: Option<u16>,
    /// Print as JSON; opens no browser and pairs no device
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum UiCommand {
    /// Manage the tokens of programs that use the HTTP API
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Manage the devices that may use the page from the network
    Device {
        #[command(subcommand)]
        command: device::DeviceCommand,
    },
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Make a token for reading, and print it; it is not shown again
    #[command(
        after_help = "Example: anyhook ui token add dashboard\n         anyhook ui token add my-bot --answer"
    )]
    Add {
        /// Its name
        name: String,
        /// It may answer decisions and send input, too
        #[arg(long)]
        answer: bool,
    },
    /// List the tokens
    #[command(after_help = "Example: anyhook ui token list")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a token: whoever has it is refused from now on
    #[command(after_help = "Example: anyhook ui token remove dashboard")]
    Remove {
        /// Its name
        name: String,
    },
}

pub fn run(arguments: &UiArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match &arguments.command {
        Some(UiCommand::Token { command }) => token(command, environment, out),
        Some(UiCommand::Device { command }) => device::run(command, environment, out),
        None if arguments.lan => {
            by_a_person("ui --lan", environment, || lan::serve(arguments, environment, out))
        }
        None if arguments.stop => by_a_person("ui --stop", environment, || {
            if let Some(mut client) = connect_if_it_runs(environment)? {
                client.request(&Request::ClosePage { by: user_name() })?;
            }
            out.line(&[(Tone::Good, "the page is closed")])?;
            Ok(exit_code::OK)
        }),
        None => by_a_person("ui", environment, || open(arguments, environment, out)),
    }
}

fn open(arguments: &UiArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let request = Request::OpenPage(OpenPage { path: None, by: user_name() });
    let Response::Page(page) = connect(environment)?.request(&request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    if arguments.json {
        out.json(&page)?;
        return Ok(exit_code::OK);
    }
    let opens = !arguments.no_open && open_browser(&page);
    if opens {
        out.line(&[(Tone::Good, "opened "), (Tone::Plain, &page.address)])?;
    } else {
        let seconds = format!("open this link within {} s, in one browser:", page.seconds);
        out.line(&[(Tone::Plain, &seconds)])?;
        out.line(&[(Tone::Strong, &page.link)])?;
    }
    Ok(exit_code::OK)
}

/// Opens a browser. Returns whether there was one to start.
fn open_browser(page: &PageLink) -> bool {
    let named = variable("BROWSER").filter(|browser| !browser.is_empty());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| variable(name).is_some());
    if named.is_none() && !has_screen {
        return false;
    }
    let program = named.unwrap_or_else(|| opener.to_owned());
    let mut command = Command::new(program);
    command.arg(&page.link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn token(command: &TokenCommand, environment: &Environment, out: &mut Out) -> CommandResult {
    let state = environment.places.state.as_deref();
    let state = state.ok_or_else(|| CommandError::problem("no state folder").hint("set HOME"))?;
    let store = TokenStore::new(StateDir::new(state).ui().join("tokens.json"));
    match command {
        TokenCommand::Add { name, answer } => {
            let scope = if *answer { Scope::Answer } else { Scope::Read };
            let secret = store.add(name, scope, now())?;
            out.text(&secret)?;
            Ok(exit_code::OK)
        }
        TokenCommand::List { json } => {
            let tokens = store.list()?;
            if *json {
                out.json(&tokens.iter().map(Token::listed).collect::<Vec<_>>())?;
            } else if tokens.is_empty() {
                out.text("no tokens")?;
            } else {
                let head =
                    ["NAME", "FOR", "SINCE"].map(|head| Cell::new(Tone::Strong, head)).to_vec();
                let rows = tokens.iter().map(|token| {
                    let since = format::minute(token.since);
                    [token.name.as_str(), token.scope.name(), &since]
                        .map(|text| Cell::new(Tone::Plain, text))
                        .to_vec()
                });
                out.table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())?;
            }
            Ok(exit_code::OK)
        }
        TokenCommand::Remove { name } => {
            store.remove(name)?;
            out.line(&[(Tone::Strong, name), (Tone::Plain, ": removed")])?;
            Ok(exit_code::OK)
        }
    }
}

impl From<TokenError> for CommandError {
    fn from(error: TokenError) -> Self {
        let hint = match &error {
            TokenError::Exists(_) => "anyhook ui token remove NAME, or choose another name",
            TokenError::Unknown(_) | TokenError::TooMany => "anyhook ui token list",
            TokenError::Name(_) => "anyhook ui token add my-script",
            TokenError::NoRandom => "check /dev/urandom",
            TokenError::File(..) => "check the file's permissions and content",
        };
        Self::problem(error.to_string()).hint(hint)
    }
}
