//! Finds the MCP servers that apply: the project's, if its current `mcp.json` is trusted, then the
//! user's.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhook_engine::places::{PROJECT_LEVEL, find_root};
use anyhook_engine::trust::{FileTrust, TrustStore};
use anyhook_hook::environment::Environment;
use anyhook_mcp::config::ConfigNote;
use anyhook_mcp::{Config, Endpoint, Server, ServerFailure};

use crate::shown;

/// The file that names servers, in the folder of a level.
pub const FILE: &str = "mcp.json";
/// No such file that people write is larger than this.
const SIZE_LIMIT: u64 = 256 * 1024;

/// The project's file, as it was read.
#[derive(Debug)]
pub struct ProjectFile {
    /// Its path.
    pub path: PathBuf,
    /// Its content, read once: what was shown or checked is what is used.
    pub content: Vec<u8>,
    /// Whether it is trusted.
    pub trust: FileTrust,
}

/// The servers that apply.
#[derive(Debug)]
pub struct Servers {
    config: Config,
    /// The project's servers if they are not trusted, and why.
    left_out: Option<(Config, ServerFailure)>,
    files: String,
    root: PathBuf,
}

impl Servers {
    /// Reads the files. A file that applies and cannot be read is an error: it may have named a
    /// server that another file would now provide.
    pub fn find(environment: &Environment) -> Result<Self, ServerFailure> {
        let user = environment.places.user.as_ref().map(|user| user.join(FILE));
        let user_config = match &user {
            Some(path) => read(path, environment)?.unwrap_or_default(),
            None => Config::default(),
        };
        let project = project_file(environment)?;
        let paths = [Some(project_path(environment)), user];
        let files: Vec<String> =
            paths.iter().flatten().map(|path| shown(path, &environment.places)).collect();
        let mut servers = Self {
            config: user_config,
            left_out: None,
            files: files.join(" or "),
            root: environment.project_root(),
        };
        if let Some(file) = project {
            let config = file.config(environment);
            match file.not_counted(environment) {
                None => servers.config = config?.or(servers.config),
                // Read nevertheless, to report which of its servers are missing.
                Some(why) => servers.left_out = Some((config.unwrap_or_default(), why)),
            }
        }
        Ok(servers)
    }

    /// Returns a server, ready to be connected to. It is started in the project's root, and paths
    /// in its file are relative to that.
    pub fn server(&self, name: &str) -> Result<Server, ServerFailure> {
        let found = self.config.server(name, &self.files, &|name| std::env::var(name).ok());
        if let (None, Some((config, why))) = (self.config.file_of(name), &self.left_out)
            && (config.file_of(name).is_some() || config.names().next().is_none())
        {
            return Err(why.clone());
        }
        let mut server = found?;
        if let Endpoint::Stdio { command, work_dir, .. } = &mut server.endpoint {
            let from_root = |path: &str| self.root.join(path).to_string_lossy().into_owned();
            *work_dir = Some(from_root(work_dir.as_deref().unwrap_or_default()));
            if command.contains('/') {
                *command = from_root(command);
            }
        }
        Ok(server)
    }

    /// Returns the names of the servers that apply.
    pub fn names(&self) -> Vec<&str> {
        self.config.names().collect()
    }

    /// Returns the unknown entries of the files.
    pub fn notes(&self) -> &[ConfigNote] {
        &self.config.notes
    }
}

impl ProjectFile {
    /// Parses its content, trusted or not.
    pub fn config(&self, environment: &Environment) -> Result<Config, ServerFailure> {
        parse(&self.path, self.content.clone(), environment)
    }

    /// Returns why its servers do not apply, if they do not.
    pub fn not_counted(&self, environment: &Environment) -> Option<ServerFailure> {
        let why = match self.trust {
            FileTrust::Trusted => return None,
            FileTrust::Never => "is not trusted",
            FileTrust::Changed => "has changed since it was trusted",
        };
        let file = shown(&self.path, &environment.places);
        let message = format!("`{file}` {why}, so its MCP servers are ignored");
        Some(ServerFailure {
            reason: message,
            hint: format!("anyhook trust {PROJECT_LEVEL}/{FILE}"),
        })
    }
}

/// Returns where the project's file is, or would be.
pub fn project_path(environment: &Environment) -> PathBuf {
    environment.project_root().join(PROJECT_LEVEL).join(FILE)
}

/// Returns whether an argument names the project's file.
pub fn is_meant(word: &Path, environment: &Environment) -> bool {
    // As hints name it, from any folder of the project.
    let usual = Path::new(PROJECT_LEVEL).join(FILE);
    let project = project_path(environment);
    let whole = environment.work_dir.join(word);
    let is_same = || {
        fs::canonicalize(&whole)
            .is_ok_and(|whole| fs::canonicalize(&project).is_ok_and(|project| whole == project))
    };
    word == Path::new(FILE) || word == usual || whole == project || is_same()
}

/// Reads the project's file, if there is one. In the home folder without a project there is none.
pub fn project_file(environment: &Environment) -> Result<Option<ProjectFile>, ServerFailure> {
    let places = &environment.places;
    if find_root(&environment.work_dir, places.home.as_deref()).is_none() {
        return Ok(None);
    }
    let path = project_path(environment);
    let Some(content) = read_bytes(&path, environment)? else { return Ok(None) };
    let trust = match &places.state {
        Some(state) => TrustStore::new(state).file_trust(&path, &content),
        None => FileTrust::Never,
    };
    Ok(Some(ProjectFile { path, content, trust }))
}

fn read(path: &Path, environment: &Environment) -> Result<Option<Config>, ServerFailure> {
    let content = read_bytes(path, environment)?;
    content.map(|content| parse(path, content, environment)).transpose()
}

fn parse(
    path: &Path,
    content: Vec<u8>,
    environment: &Environment,
) -> Result<Config, ServerFailure> {
    let file = shown(path, &environment.places);
    let text = String::from_utf8(content).map_err(|_| unusable(&file, "it is not UTF-8"))?;
    Ok(Config::read(&file, &text)?)
}

fn read_bytes(path: &Path, environment: &Environment) -> Result<Option<Vec<u8>>, ServerFailure> {
    let file = shown(path, &environment.places);
    let failed = |error: std::io::Error| unusable(&file, &error.to_string());
    match fs::metadata(path) {
        // It never existed, or its folder is a file.
        Err(_) if fs::symlink_metadata(path).is_err() => return Ok(None),
        Err(error) => return Err(failed(error)),
        // A pipe may never end.
        Ok(metadata) if !metadata.is_file() => return Err(unusable(&file, "it is not a file")),
        Ok(_) => {}
    }
    let mut content = Vec::new();
    let opened = fs::File::open(path).map_err(failed)?;
    opened.take(SIZE_LIMIT + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > SIZE_LIMIT {
        return Err(unusable(&file, "it is larger than 256 KiB"));
    }
    Ok(Some(content))
}

fn unusable(file: &str, why: &str) -> ServerFailure {
    let hint = "it must be a JSON file with `mcpServers`, of at most 256 KiB".to_owned();
    ServerFailure { reason: format!("`{file}` cannot be used: {why}"), hint }
}
