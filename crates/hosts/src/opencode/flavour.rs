//! OpenCode and its forks: they take the same plugin, which sends the same, and have their own names
//! and folders.

use crate::tool::{HostTool, NativeTool};

/// What differs between OpenCode and its forks.
#[derive(Debug)]
pub(crate) struct Flavour {
    /// The agent's id.
    pub(crate) id: &'static str,
    /// Its display name.
    pub(crate) title: &'static str,
    /// Its tools that have a canonical name.
    pub(crate) tools: &'static [HostTool],
    /// Its tools that have none.
    pub(crate) other_tools: &'static [NativeTool],
    /// The name of its folder among the user's settings, and among their data.
    pub(crate) folder: &'static str,
    /// The name of its folder in a project.
    pub(crate) project_folder: &'static str,
    /// The folder in either from which it loads plugins.
    pub(crate) plugins: &'static str,
    /// The names of its databases.
    pub(crate) databases: &'static [&'static str],
    /// Whether a run without a screen can be sent back to work once it is idle.
    pub(crate) goes_on_without_screen: bool,
    /// The variable that contains settings for one start.
    pub(crate) settings_variable: &'static str,
    /// The package that it installs into its folders for plugins.
    pub(crate) plugin_package: &'static str,
    /// The variable that names the file with its list of models.
    pub(crate) models_variable: &'static str,
    /// The variables that keep it from using the network.
    pub(crate) quiet_variables: &'static [(&'static str, &'static str)],
}
