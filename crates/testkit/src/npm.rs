//! Programs from npm, in a cache folder of this project, at pinned versions.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why something could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no npm to install it with.
    #[error("npm is missing, which installs it: {0}")]
    NoNpm(io::Error),
    /// npm could not install it.
    #[error("npm could not install `{package}`: {message}")]
    Npm {
        /// The packages and their versions.
        package: String,
        /// npm's output.
        message: String,
    },
    /// No Python on this machine is recent enough.
    #[error("`{package}` needs Python 3.{minor} or newer")]
    NoPython {
        /// The packages and their versions.
        package: String,
        /// The earliest version 3 of Python that runs them.
        minor: u32,
    },
    /// pip could not install it.
    #[error("pip could not install `{package}`: {message}")]
    Pip {
        /// The packages and their versions.
        package: String,
        /// pip's output.
        message: String,
    },
    /// The cache folder cannot be used.
    #[error("the cache folder `{folder}` cannot be used: {error}", folder = folder.display())]
    Cache {
        /// The folder in the cache.
        folder: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
}

/// Installs packages, each with its version, into a folder of the cache, unless they are installed
/// already. Returns the folder.
pub fn install(name: &str, packages: &[&str]) -> Result<PathBuf, InstallError> {
    install_with(name, packages, &NpmInstall::default(), |_| Ok(()))
}

/// How packages are installed, if not just so.
#[derive(Clone, Debug, Default)]
pub(crate) struct NpmInstall {
    /// Options of npm.
    pub(crate) options: &'static [&'static str],
    /// A package that is unpacked beside the others, without those that it declares to need.
    pub(crate) bundle: Option<String>,
}

/// Like [`install`], and has something done to what was installed.
pub(crate) fn install_with(
    name: &str,
    packages: &[&str],
    how: &NpmInstall,
    finish: impl FnOnce(&Path) -> Result<(), InstallError>,
) -> Result<PathBuf, InstallError> {
    let all: Vec<&str> = packages.iter().copied().chain(how.bundle.as_deref()).collect();
    install_once(name, &all.join(" "), |folder| {
        npm_install(folder, packages, how.options)?;
        if let Some(bundle) = &how.bundle {
            unpack(folder, bundle)?;
        }
        finish(folder)
    })
}

/// Has something installed into a folder of the cache, unless it is installed already.
pub(crate) fn install_once(
    name: &str,
    package: &str,
    install: impl FnOnce(&Path) -> Result<(), InstallError>,
) -> Result<PathBuf, InstallError> {
    let folder = cache().join(name);
    let cache_error = |error| InstallError::Cache { folder: folder.clone(), error };
    if is_installed(&folder, package) {
        return Ok(folder);
    }
    // Tests run in parallel: one installs, the others wait.
    let _lock = lock(&folder).map_err(cache_error)?;
    if !is_installed(&folder, package) {
        remove(&folder).map_err(cache_error)?;
        install(&folder)?;
        fs::write(stamp(&folder), package).map_err(cache_error)?;
    }
    Ok(folder)
}

/// Installs what the TypeScript client is built with, according to its `package.json`; returns the
/// folder.
pub fn typescript() -> Result<PathBuf, InstallError> {
    let manifest =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/typescript/package.json");
    let text = fs::read_to_string(&manifest).expect("the client has a package.json");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let wanted = manifest["devDependencies"].as_object().expect("it says what it is built with");
    let named = |(name, version): (&String, &serde_json::Value)| {
        format!("{name}@{}", version.as_str().expect("a version is a text"))
    };
    let packages: Vec<String> = wanted.iter().map(named).collect();
    install("typescript", &packages.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Installs the JSON Schema of SARIF 2.1.0; returns its file.
pub fn sarif_schema() -> Result<PathBuf, InstallError> {
    let folder = install("sarif", &["@microsoft/jest-sarif@1.0.0-beta.0"])?;
    Ok(folder.join("node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"))
}

pub(crate) fn cache() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(variable("HOME").unwrap_or_else(|| "/root".into()));
    cache.unwrap_or_else(|| home().join(".cache")).join("anyhook-dev")
}

fn stamp(folder: &Path) -> PathBuf {
    folder.join("installed")
}

fn is_installed(folder: &Path, package: &str) -> bool {
    fs::read_to_string(stamp(folder)).is_ok_and(|installed| installed == package)
}

fn lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let file = File::create(folder.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}

fn remove(folder: &Path) -> io::Result<()> {
    // The stamp is removed first: an interrupted installation is not taken for a complete one.
    match fs::remove_file(stamp(folder)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir_all(folder)?;
    fs::create_dir(folder)
}

fn npm_install(folder: &Path, packages: &[&str], options: &[&str]) -> Result<(), InstallError> {
    let mut npm = Command::new("npm");
    npm.arg("install")
        .arg("--prefix")
        .arg(folder)
        .args(["--ignore-scripts", "--no-fund", "--no-audit"])
        .args(options)
        .args(packages);
    run(npm, &packages.join(" "))
}

/// Unpacks a package, with its version, into `node_modules`.
fn unpack(folder: &Path, bundle: &str) -> Result<(), InstallError> {
    let cache_error = |error| InstallError::Cache { folder: folder.to_owned(), error };
    let name = bundle.rsplit_once('@').map_or(bundle, |(name, _)| name);
    let target = folder.join("node_modules").join(name);
    let packed = folder.join("packed");
    fs::create_dir_all(&target).and_then(|()| fs::create_dir(&packed)).map_err(cache_error)?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--pack-destination"]).arg(&packed).arg(bundle);
    run(npm, bundle)?;
    for entry in fs::read_dir(&packed).map_err(cache_error)? {
        let mut tar = Command::new("tar");
        tar.arg("xzf").arg(entry.map_err(cache_error)?.path()).arg("-C").arg(&target);
        tar.arg("--strip-components=1");
        run(tar, bundle)?;
    }
    fs::remove_dir_all(&packed).map_err(cache_error)
}

/// Runs npm, or what unpacks its packages.
fn run(mut command: Command, package: &str) -> Result<(), InstallError> {
    let output = command.stdin(Stdio::null()).output().map_err(InstallError::NoNpm)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(InstallError::Npm { package: package.to_owned(), message })
}
