//! Commands that run on another machine or in a container.

use super::output::Output;
use super::{Reader, Run};
use crate::programs::contains;
use crate::word::Word;
use crate::wrappers;

const SSH_VALUES: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -P";
/// Options with a value of programs that run a command on many machines.
const PARALLEL_VALUES: &str = "-w -x -g -h -H --hosts --host -l --user -p --par -o --outdir -e \
--errdir -t --timeout -u -f -R -O --option -X --extra-arg";
/// Programs that images are named after, and that such an image runs.
const IMAGES: &str = "git kubectl terraform helm aws-cli rclone curl psql redis-cli";
const CONTAINERS: &str = "docker podman nerdctl docker-compose podman-compose";
/// Options of `docker run` and `exec` that take a value.
const CONTAINER_VALUES: &str = "-v --volume -e --env --env-file -p --publish --name --network --net \
-u --user -w --workdir --entrypoint --mount --label -l -h --hostname --restart --memory -m --cpus \
--gpus --device --cap-add --cap-drop --security-opt --pid --ipc --platform --pull --ulimit \
--add-host --dns --expose --link --log-driver --log-opt --runtime --shm-size --tmpfs \
--volumes-from --cidfile --stop-signal --userns --ip --group-add --detach-keys -f --file \
--project-name --profile --index --project-directory -c --context -H --host --config --log-level \
--cgroupns --cgroup-parent --cpuset-cpus --annotation --sysctl --storage-opt";

impl Reader {
    pub(super) fn remote(&mut self, name: &str, run: &Run) -> Option<Output> {
        match name {
            "ssh" | "autossh" | "mosh" => Some(self.ssh(name, run, SSH_VALUES)),
            "sshpass" => {
                let words = wrappers::inner(run, "-p -f -d -P", 0);
                Some(self.run_inner(name, words, run))
            }
            _ if contains(CONTAINERS, name) => Some(self.container(name, run)),
            "kubectl" | "oc" => Some(self.behind_dashes(name, run, "exec debug run")),
            "fly" | "flyctl" if run.words.iter().any(|word| word.text.starts_with("-C")) => {
                Some(self.command_option(name, run))
            }
            "pdsh" | "pssh" | "parallel-ssh" => {
                let code = Word::joined(&wrappers::inner(run, PARALLEL_VALUES, 0));
                Some(self.elsewhere(|reader| reader.run_code(&code, name)))
            }
            "ansible" => Some(self.ansible(run)),
            "heroku" if run.words.get(1).is_some_and(|word| word.text.starts_with("run")) => {
                let rest = run.words.get(2..).unwrap_or_default();
                let words = wrappers::skip_options(rest, "-a --app -r --remote -s --size");
                let code = Word::joined(&words);
                Some(self.elsewhere(|reader| reader.run_code(&code, name)))
            }
            "aws" => self.aws(run),
            "lxc" | "incus" | "distrobox" | "toolbox" | "flyctl" | "fly" | "multipass" => {
                Some(self.behind_dashes(name, run, "exec enter run ssh"))
            }
            "vagrant" | "gcloud" | "wsl" => Some(self.command_option(name, run)),
            _ => None,
        }
    }

    /// Does something elsewhere: the folder there is not known.
    fn elsewhere(&mut self, act: impl FnOnce(&mut Self) -> Output) -> Output {
        let before = std::mem::replace(&mut self.is_remote, true);
        let output = self.subshell(|reader| {
            reader.scope.set_folder(crate::command::Folder::Unknown);
            act(reader)
        });
        self.is_remote = before;
        output
    }

    fn ssh(&mut self, name: &str, run: &Run, values: &str) -> Output {
        let rest = wrappers::inner(run, values, 0);
        let words = match rest.get(1..) {
            Some(words) => wrappers::skip_options(words, values),
            None => Vec::new(),
        };
        let name = name.to_owned();
        if words.is_empty() {
            return match run.input.clone() {
                Some(code) if !rest.is_empty() => self.elsewhere(|reader| {
                    let host = Word::joined(&run.words).text;
                    reader.run_output(code, &name, &host)
                }),
                _ => Output::computed(),
            };
        }
        let code = Word::joined(&words);
        self.elsewhere(|reader| reader.with_input(run, |reader| reader.run_code(&code, &name)))
    }

    fn with_input(&mut self, run: &Run, act: impl FnOnce(&mut Self) -> Output) -> Output {
        let before = std::mem::replace(&mut self.input, run.input.clone());
        let output = act(self);
        self.input = before;
        output
    }

    fn container(&mut self, name: &str, run: &Run) -> Output {
        let mut words = wrappers::inner(run, CONTAINER_VALUES, 0);
        if words.first().is_some_and(|word| contains("compose container", &word.text)) {
            words = wrappers::skip_options(&words[1..], CONTAINER_VALUES);
        }
        if !words.first().is_some_and(|word| contains("run exec", &word.text)) {
            return Output::computed();
        }
        let options = &words[1..];
        let rest = wrappers::skip_options(options, CONTAINER_VALUES);
        let entry = entry_point(&options[..options.len() - rest.len()]);
        let mut inner = rest.get(1..).unwrap_or_default().to_vec();
        let entry = entry.or_else(|| rest.first().and_then(program_of_image));
        if let Some(entry) = entry {
            inner.insert(0, entry);
        }
        self.elsewhere(|reader| reader.run_inner(name, inner, run))
    }

    /// `kubectl exec POD -- COMMAND`
    fn behind_dashes(&mut self, name: &str, run: &Run, subcommands: &str) -> Output {
        let is_run = run.words.iter().any(|word| contains(subcommands, &word.text));
        let Some(place) = run.words.iter().position(|word| word.text == "--") else {
            if is_run && contains("kubectl oc", name) {
                let values = "-n --namespace -c --container --context --kubeconfig";
                let rest = wrappers::inner(run, values, 0);
                let rest = wrappers::skip_options(rest.get(1..).unwrap_or_default(), values);
                let words = wrappers::skip_options(rest.get(1..).unwrap_or_default(), values);
                return self.elsewhere(|reader| reader.run_inner(name, words, run));
            }
            return Output::computed();
        };
        let words = run.words[place + 1..].to_vec();
        if !is_run {
            return Output::computed();
        }
        self.elsewhere(|reader| reader.run_inner(name, words, run))
    }

    /// `ansible HOSTS -m shell -a COMMAND`
    fn ansible(&mut self, run: &Run) -> Output {
        let value = |options: &str| {
            let place = run.words.iter().position(|word| contains(options, &word.text))?;
            run.words.get(place + 1)
        };
        let module = value("-m --module-name").and_then(Word::known).unwrap_or("command");
        let module = module.rsplit('.').next().unwrap_or(module);
        match value("-a --args").cloned() {
            Some(code) if contains("command shell raw script", module) => {
                self.elsewhere(|reader| reader.run_code(&code, "ansible"))
            }
            _ => Output::computed(),
        }
    }

    /// `aws ssm send-command --parameters 'commands=["COMMAND"]'`
    fn aws(&mut self, run: &Run) -> Option<Output> {
        if !run.words.iter().any(|word| word.text == "send-command") {
            return None;
        }
        for word in &run.words[1..] {
            let Some((_, list)) = word.split_once('=').filter(|(name, _)| *name == "commands")
            else {
                continue;
            };
            let Some(list) = list.known() else { continue };
            for code in list.trim_matches(['[', ']']).split("\",\"") {
                let code = Word::literal(code.trim_matches(['"', '\'']));
                self.elsewhere(|reader| reader.run_code(&code, "aws"));
            }
        }
        Some(Output::computed())
    }

    /// `vagrant ssh -c COMMAND`, `gcloud compute ssh --command=COMMAND`
    fn command_option(&mut self, name: &str, run: &Run) -> Output {
        let options = "-c -C --command -e --exec";
        for (index, word) in run.words.iter().enumerate() {
            let code = if contains(options, &word.text) {
                run.words.get(index + 1).cloned()
            } else {
                word.split_once('=')
                    .filter(|(name, _)| contains(options, name))
                    .map(|(_, code)| code)
            };
            if let Some(code) = code {
                return self.elsewhere(|reader| reader.run_code(&code, name));
            }
        }
        Output::computed()
    }
}

/// Returns the program that an image runs, if it is named after one: `alpine/git`.
fn program_of_image(image: &Word) -> Option<Word> {
    let (_, name) = image.known()?.rsplit_once('/')?;
    let name = name.split([':', '@']).next().unwrap_or(name);
    contains(IMAGES, name).then(|| Word::literal(if name == "aws-cli" { "aws" } else { name }))
}

/// Returns the program of `--entrypoint`.
fn entry_point(options: &[Word]) -> Option<Word> {
    for (index, word) in options.iter().enumerate() {
        if word.text == "--entrypoint" {
            return options.get(index + 1).cloned();
        }
        if let Some(entry) = word.strip_prefix("--entrypoint=") {
            return Some(entry);
        }
    }
    None
}
