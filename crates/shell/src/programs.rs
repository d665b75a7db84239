//! What is known about programs: one row each.

/// What a program's operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Nothing is known: what looks like a path may be read.
    Unknown,
    /// No files.
    None,
    /// All are read.
    Read,
    /// All are written.
    Write,
    /// All are deleted.
    Delete,
    /// The last is written, the others are read.
    Copies,
    /// The last is written, the others are moved.
    Move,
    /// The first is no file, the others are read: `grep PATTERN FILE`.
    ReadAfterFirst,
    /// The first is no file, the others are written: `chmod MODE FILE`.
    WriteAfterFirst,
    /// The first is written, the others are read: `zip ARCHIVE FILE`.
    WriteFirst,
    /// The first is read, the others are arguments of it: `python FILE`.
    ReadFirst,
    /// See [`crate::files`].
    Special,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Options that take a value, separated by blanks.
    pub(crate) values: &'static str,
    pub(crate) operands: Operands,
    /// Options whose value is a file that is read.
    pub(crate) reads: &'static str,
    /// Options whose value is a file that is written.
    pub(crate) writes: &'static str,
    /// Flags that make it enter folders; `*` if it always does.
    pub(crate) recursive: &'static str,
    /// Flags have one dash and several letters: `find -delete`.
    long: bool,
}

/// A program that is not in the table.
pub(crate) static OTHER: Program = row("", Operands::Unknown);

const fn row(name: &'static str, operands: Operands) -> Program {
    Program { name, values: "", operands, reads: "", writes: "", recursive: "", long: false }
}

impl Program {
    const fn values(mut self, values: &'static str) -> Self {
        self.values = values;
        self
    }

    const fn reads(mut self, options: &'static str) -> Self {
        self.reads = options;
        self
    }

    const fn writes(mut self, options: &'static str) -> Self {
        self.writes = options;
        self
    }

    const fn recursive(mut self, flags: &'static str) -> Self {
        self.recursive = flags;
        self
    }

    const fn long_flags(mut self) -> Self {
        self.long = true;
        self
    }

    pub(crate) fn has_long_flags(&self) -> bool {
        self.long
    }

    /// Whether the next word is the value of this option.
    pub(crate) fn takes_value(&self, option: &str) -> bool {
        if option.starts_with("--") || self.long {
            return !option.contains('=') && self.is_value_option(option);
        }
        // In a bundle only the last letter takes the next word; an earlier one takes the rest.
        let letters = &option.as_bytes()[1..];
        match letters.iter().position(|&letter| self.is_value_letter(letter)) {
            Some(place) => place + 1 == letters.len(),
            None => self.is_value_option(option),
        }
    }

    fn is_value_option(&self, option: &str) -> bool {
        [self.values, self.reads, self.writes].iter().any(|list| contains(list, option))
    }

    pub(crate) fn is_value_letter(&self, letter: u8) -> bool {
        let is = |option: &str| option.as_bytes() == [b'-', letter];
        let lists = [self.values, self.reads, self.writes];
        lists.iter().any(|list| list.split(' ').any(is))
    }
}

/// Whether a list separated by blanks has an item.
pub(crate) fn contains(list: &str, item: &str) -> bool {
    list.split(' ').any(|one| one == item)
}

/// Returns what is known about a program.
pub(crate) fn find(name: &str) -> &'static Program {
    PROGRAMS.binary_search_by(|row| row.name.cmp(name)).map_or(&OTHER, |index| &PROGRAMS[index])
}

use Operands::{
    Copies, Delete, Move, None as No, Read, ReadAfterFirst, ReadFirst, Special, Write,
    WriteAfterFirst, WriteFirst,
};

/// Options of `git` and of its subcommands.
const GIT: &str = "-C -c --git-dir --work-tree --namespace --exec-path --config-env -m --message \
-b -B -F --file --author --date --fixup --squash --reuse-message --branch --depth --reference \
--origin -o --push-option --strategy --strategy-option --onto --exec --since --until --after \
--before --grep --format --max-count --source --conflict --pathspec-from-file \
--local-user --config --jobs -j --upload-pack --receive-pack --repo -G -L --orphan";
const DOCKER: &str = "-H --host --context --config -l --log-level -v --volume -e --env --env-file \
-p --publish --name --network --net -u --user -w --workdir --entrypoint --mount --label -h \
--hostname --restart --memory -m --cpus --gpus --device --cap-add --cap-drop --security-opt --pid \
--ipc --platform --pull --ulimit --add-host --dns --expose --link --log-driver --log-opt --runtime \
--shm-size --tmpfs --volumes-from -f --file --project-name --project-directory --profile -t --tag \
--build-arg --target --cache-from --filter --format --since --until --tail -n -s --signal --time \
--cidfile --stop-signal --userns --ip --group-add --health-cmd --health-interval --detach-keys";
const KUBERNETES: &str = "-n --namespace --context --cluster --kubeconfig --user -s --server \
--token --as --as-group -f --filename -l --selector -o --output -c --container --field-selector \
--grace-period --timeout -k --kustomize --image --replicas -p --patch --type --since --tail \
--request-timeout --certificate-authority --client-key --client-certificate";
const NODE_PACKAGES: &str = "--prefix -C --dir --cwd --filter -F --workspace -w --registry --tag \
--loglevel --cache --userconfig --access --otp --script-shell";
const INTERPRETER: &str = "-c -e -m -W -X -r -I -E -p --eval --require --import --print";
const SHELL: &str = "-c -o -O --rcfile --init-file";
const CLOUD: &str = "--profile --region --output --query --project --zone --account --format \
--subscription -g --resource-group --name -n --configuration --endpoint-url";

/// In the order of their names.
static PROGRAMS: &[Program] = &[
    row("7z", Special).values("-o"),
    row("7za", Special).values("-o"),
    row("Remove-Item", Delete).values("-Path -LiteralPath").recursive("-Recurse -r").long_flags(),
    row("[", No),
    row("ansible", No).values("-i -m -a -u -e -l -f -t --inventory --module-name --args"),
    row("apt", No).values("-o -c -t --option --config-file --target-release"),
    row("apt-get", No).values("-o -c -t --option --config-file --target-release"),
    row("awk", ReadAfterFirst).values("-F -v").reads("-f --file"),
    row("aws", Special).values(CLOUD),
    row("az", No).values(CLOUD),
    row("base32", Read).values("-w --wrap"),
    row("base64", Read).values("-w --wrap -b").reads("-i --input").writes("--output"),
    row("bash", ReadFirst).values(SHELL),
    row("bat", Read).values("-l --language -r --line-range --style --theme"),
    row("brew", No),
    row("bun", No).values(NODE_PACKAGES),
    row("bunzip2", Write),
    row("bzip2", Write),
    row("cargo", No).values(
        "-Z --color --config -C --manifest-path -p --package --features -F --target \
         --target-dir --profile -j --jobs --bin --example --test --bench --exclude --message-format \
         --root --registry --version --git --branch --tag --rev --path --index -E --color",
    ),
    row("cat", Read),
    row("cd", No),
    row("chattr", WriteAfterFirst).values("-v -p").recursive("-R"),
    row("chgrp", WriteAfterFirst).values("--reference --from").recursive("-R --recursive"),
    row("chmod", WriteAfterFirst).values("--reference").recursive("-R --recursive"),
    row("chown", WriteAfterFirst).values("--reference --from").recursive("-R --recursive"),
    row("cmp", Read).values("-n -i"),
    row("code", Read),
    row("column", Read).values("-s -o -c -N -H -R -O -E -W"),
    row("comm", Read),
    row("composer", No).values("-d --working-dir"),
    row("cp", Copies)
        .values("-S --suffix --backup --sparse --no-preserve -t --target-directory")
        .recursive("-r -R -a --recursive --archive"),
    row("crontab", Read).values("-u"),
    row("curl", Special).values(
        "-A --user-agent -b --cookie -c --cookie-jar -C --continue-at -d --data --data-ascii \
         --data-binary --data-raw --data-urlencode --json -D --dump-header -e --referer -E --cert \
         --key --cacert --capath -F --form --form-string -H --header -K --config -m --max-time \
         --connect-timeout -o --output --output-dir -P --ftp-port -Q --quote -r --range -T \
         --upload-file -t --telnet-option -u --user -U --proxy-user -w --write-out -x --proxy -X \
         --request -y -Y -z --time-cond --retry --retry-delay --retry-max-time --url --resolve \
         --limit-rate --interface --max-redirs --noproxy --pinnedpubkey --ciphers --trace \
         --trace-ascii --stderr --unix-socket --aws-sigv4 --oauth2-bearer --proto --tls-max \
         --max-filesize --preproxy --socks5 --socks5-hostname --connect-to --doh-url --netrc-file",
    ),
    row("cut", Read).values("-d -f -c -b --delimiter --fields --output-delimiter"),
    row("dash", ReadFirst).values(SHELL),
    row("dd", Special),
    row("del", Delete).recursive("*"),
    row("del-cli", Delete).recursive("*"),
    row("deno", ReadFirst),
    row("df", No).values("-t -x -B --type"),
    row("diff", Read).values("-U -C -x -X -I -F --exclude --label").recursive("-r --recursive"),
    row("dig", No),
    row("dnf", No).values("-c --config --repo --enablerepo --disablerepo"),
    row("docker", No).values(DOCKER),
    row("docker-compose", No).values(DOCKER),
    row("dpkg", No),
    row("du", No).values("-d -B -t --max-depth --exclude").recursive("*"),
    row("echo", No),
    row("ed", Write).values("-p"),
    row("egrep", ReadAfterFirst)
        .values("-A -B -C -m --include --exclude --exclude-dir --color")
        .recursive("-r -R --recursive"),
    row("emacs", Write).values("--eval -l -f --load"),
    row("exit", No),
    row("export", No),
    row("fd", Special).values(
        "-e -E -t -d -x -X -c -j -S -g --extension --exclude --type --max-depth --min-depth \
         --exec --exec-batch --color --threads --size --changed-within --changed-before --owner \
         --base-directory --search-path",
    ),
    row("fdisk", Write),
    row("fgrep", ReadAfterFirst)
        .values("-A -B -C -m --include --exclude --exclude-dir --color")
        .recursive("-r -R --recursive"),
    row("file", Read).values("-m -F"),
    row("find", Special)
        .values(
            "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -maxdepth \
             -mindepth -mtime -mmin -atime -amin -ctime -cmin -newer -size -perm -user -group -uid \
             -gid -exec -execdir -ok -okdir -printf -fprintf -fprint -fprint0 -fls -lname -ilname \
             -samefile -inum -links -regextype -fstype -newermt -xtype -used",
        )
        .long_flags(),
    row("fish", ReadFirst).values("-c --command -C"),
    row("gawk", ReadAfterFirst).values("-F -v").reads("-f --file"),
    row("gcloud", Special).values(CLOUD),
    row("gh", No).values(
        "-R --repo -t --title -b --body -B --base -H --head -l --label -a --assignee -f --field -F \
         --raw-field -X --method -q --jq --json --template -L --limit -s --state --body-file",
    ),
    row("git", Special).values(GIT),
    row("go", No).values("-C -o -run -tags -ldflags -timeout -count").long_flags(),
    row("gpg", Read)
        .values("-u -r --recipient --local-user --keyserver --homedir --passphrase --batch")
        .writes("-o --output"),
    row("grep", ReadAfterFirst)
        .values(
            "-A -B -C -m -d -D --include --exclude --exclude-dir --color --max-count \
             --after-context --before-context --context -e --regexp --label --binary-files",
        )
        .reads("-f --file")
        .recursive("-r -R --recursive"),
    row("gunzip", Write),
    row("gzip", Write).values("-S --suffix"),
    row("head", Read).values("-n -c --lines --bytes"),
    row("helm", No).values(
        "-n --namespace --kube-context --kubeconfig -f --values --set --set-string --set-file \
         --version --timeout --repo -o --output",
    ),
    row("hexdump", Read).values("-n -s -e -f"),
    row("install", Copies).values(
        "-m -o -g -S -t --mode --owner --group --suffix --target-directory",
    ),
    row("java", No).values("-jar -cp -classpath --class-path").long_flags(),
    row("jq", ReadAfterFirst).values("--indent --tab").reads("-f --from-file"),
    row("kill", No).values("-s -n --signal"),
    row("killall", No).values("-s -u -o -y --signal --user"),
    row("ksh", ReadFirst).values(SHELL),
    row("kubectl", No).values(KUBERNETES),
    row("less", Read).values("-p -P -t -x -y -z -j -h -k").writes("-o -O"),
    row("link", Copies),
    row("ln", Copies).values("-S --suffix -t --target-directory"),
    row("ls", No).values("-I -w -T --ignore --width --time-style").recursive("-R --recursive"),
    row("lsof", Read).values("-i -p -u -c"),
    row("make", No).values("-C -f -j -o -W -I --directory --file --jobs"),
    row("mawk", ReadAfterFirst).values("-F -v").reads("-f"),
    row("md5sum", Read),
    row("mkdir", Write).values("-m --mode"),
    row("mkfifo", Write).values("-m --mode"),
    row("mkfs", Write).values("-t -L -b -N -O -E -m"),
    row("mkfs.btrfs", Write).values("-L"),
    row("mkfs.ext4", Write).values("-L -b -N -O -E -m"),
    row("mkfs.vfat", Write).values("-F -n"),
    row("mkfs.xfs", Write).values("-L"),
    row("mknod", WriteFirst),
    row("mkswap", Write).values("-L -U"),
    row("mktemp", No).values("-p -t --tmpdir --suffix"),
    row("more", Read),
    row("mount", No).values("-t -o -L -U"),
    row("mv", Move).values("-S --suffix -t --target-directory --backup"),
    row("mysql", No).values("-u -h -P -D -e --user --host --port --database --execute"),
    row("nano", Write).values("-r -T -Y"),
    row("nc", No).values("-p -s -w -i -X -x -e -c"),
    row("nl", Read).values("-b -w -s -n"),
    row("node", ReadFirst).values(INTERPRETER),
    row("npm", No).values(NODE_PACKAGES),
    row("npx", No).values("-p --package -c --call"),
    row("nvim", Write).values("-c -u -S --cmd"),
    row("od", Read).values("-A -t -N -j -w"),
    row("open", Read).values("-a -b"),
    row("openssl", Special)
        .values(
            "-in -out -inkey -key -keyout -cert -CA -CAkey -CAfile -CApath -passin -passout -pass \
             -days -subj -newkey -config -connect -servername -k -kfile -K -iv -S -md -name \
             -extensions -addext -sigfile -signature -sign -verify",
        )
        .long_flags(),
    row("pandoc", Read).values("-f -t --from --to").writes("-o --output"),
    row("parted", Write).values("-a"),
    row("paste", Read).values("-d"),
    row("patch", Write).values("-p -d -F -z -B").reads("-i --input").writes("-o --output"),
    row("perl", ReadFirst).values("-e -E -I -M -m"),
    row("php", ReadFirst).values("-r -c -d -f"),
    row("pip", No).values(
        "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -t \
         --target --prefix --root --proxy --timeout --cache-dir --platform --python-version",
    ),
    row("pip3", No).values(
        "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -t \
         --target --prefix --root --proxy --timeout --cache-dir --platform --python-version",
    ),
    row("pkill", No).values("-s -u -U -g -P -t --signal --parent"),
    row("pnpm", No).values(NODE_PACKAGES),
    row("podman", No).values(DOCKER),
    row("poetry", No).values("-C --directory --project -P"),
    row("printf", No),
    row("ps", No).values("-u -p -o -C -t --sort"),
    row("psql", No).values(
        "-h -p -U -d -c -v -F -R -T --host --port --username --dbname --command --set",
    ),
    row("pwsh", ReadFirst).values("-Command -File -c -f").long_flags(),
    row("python", ReadFirst).values(INTERPRETER),
    row("python2", ReadFirst).values(INTERPRETER),
    row("python3", ReadFirst).values(INTERPRETER),
    row("rcp", Copies),
    row("readlink", No),
    row("realpath", No),
    row("redis-cli", No).values("-h -p -a -n -u"),
    row("rg", ReadAfterFirst)
        .values(
            "-A -B -C -m -g -t -T -e -j -M -r --glob --type --type-not --max-count --context \
             --regexp --replace --color --sort --max-depth --engine",
        )
        .reads("-f --file")
        .recursive("*"),
    row("rimraf", Delete).recursive("*"),
    row("rm", Delete).values("").recursive("-r -R --recursive"),
    row("rmdir", Delete),
    row("rsync", Special).values(
        "-e --rsh -f --filter --exclude --include --exclude-from --include-from --files-from -T \
         --temp-dir --bwlimit --port --rsync-path --log-file --password-file --chmod --chown \
         --compare-dest --copy-dest --link-dest -B --block-size --max-size --min-size --timeout \
         --partial-dir --backup-dir --suffix --out-format -M --info",
    ),
    row("ruby", ReadFirst).values("-e -I -r -C"),
    row("scp", Copies).values("-P -i -o -c -F -J -l -S -D").recursive("-r"),
    row("sed", Special).values("-e --expression -l -E").reads("-f --file"),
    row("sendmail", No).values("-f -F"),
    row("service", No),
    row("sftp", No).values("-P -i -o -b -F -J -l -B -D -R -S -s -c"),
    row("sh", ReadFirst).values(SHELL),
    row("sha1sum", Read),
    row("sha256sum", Read),
    row("sha512sum", Read),
    row("shasum", Read).values("-a"),
    row("shred", Delete).values("-n -s --iterations --size --random-source"),
    row("sleep", No),
    row("sort", Read)
        .values("-k -t -S -T --key --field-separator --parallel --compress-program")
        .writes("-o --output"),
    row("source", ReadFirst),
    row("split", Read).values("-l -b -n -a -C"),
    row("sponge", Write),
    row("sqlite3", WriteFirst).values("-cmd -separator -init").long_flags(),
    row("srm", Delete).recursive("-r -R --recursive"),
    row("ssh", No).values(
        "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -P",
    ),
    row("ssh-copy-id", No).values("-i -p -o"),
    row("ssh-keygen", No).values("-t -b -C -N -P -m -R -F").writes("-f"),
    row("stat", No).values("-c -f --format --printf"),
    row("strings", Read).values("-n -e -t"),
    row("systemctl", No).values("-H -M -t -p -n -o -s --host --type --property --state --signal"),
    row("tac", Read).values("-s"),
    row("tail", Read).values("-n -c -s --lines --bytes --pid --sleep-interval"),
    row("tar", Special).values(
        "-f --file -C --directory -X --exclude-from -T --files-from --exclude --transform \
         --strip-components -I --use-compress-program --to-command --checkpoint-action --owner \
         --group --mode -b -N --newer",
    ),
    row("tee", Write),
    row("terraform", No).values("-chdir -var -var-file -target -out -state -backend-config").long_flags(),
    row("test", No),
    row("tofu", No).values("-chdir -var -var-file -target -out -state -backend-config").long_flags(),
    row("touch", Write).values("-d -t -r --date --reference --time"),
    row("tr", No),
    row("trash", Delete).recursive("*"),
    row("trash-put", Delete).recursive("*"),
    row("tree", Read).values("-L -P -I -o --filelimit").recursive("*"),
    row("truncate", Write).values("-s -r --size --reference"),
    row("umount", No).values("-t -O"),
    row("uniq", Copies).values("-f -s -w"),
    row("unlink", Delete),
    row("unxz", Write),
    row("unzip", ReadFirst).values("-x -P").writes("-d"),
    row("uv", No).values("--directory --project -p --python --with --index-url -r --requirement"),
    row("vi", Write).values("-c -u -S -t --cmd"),
    row("vim", Write).values("-c -u -S -t --cmd"),
    row("wc", Read).values("--files0-from"),
    row("wget", Special).values(
        "-O --output-document -o --output-file -a --append-output -P --directory-prefix -i \
         --input-file -t --tries -T --timeout -w --wait -Q --quota -U --user-agent --header \
         --post-data --post-file --body-data --body-file --method --user --password -A --accept -R \
         --reject -D --domains -I -X -l --level -B --base --referer --load-cookies --save-cookies \
         --limit-rate --ca-certificate --certificate --private-key -e --execute",
    ),
    row("wipefs", Write).values("-o -t"),
    row("xargs", No)
        .values("-I -n -P -L -d -s -E -J --max-args --max-procs --max-lines --delimiter --max-chars")
        .reads("-a --arg-file"),
    row("xdg-open", Read),
    row("xxd", Copies).values("-l -s -c -g -o -n"),
    row("xz", Write).values("-T"),
    row("yarn", No).values(NODE_PACKAGES),
    row("yq", ReadAfterFirst),
    row("yum", No).values("-c --config"),
    row("zcat", Read),
    row("zip", WriteFirst).values("-x -i -P -b -t -tt -TT --exclude").recursive("-r"),
    row("zsh", ReadFirst).values(SHELL),
    row("zstd", Write).values("-T").writes("-o"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order() {
        for pair in PROGRAMS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} stands before {}", pair[0].name, pair[1].name);
        }
    }

    #[test]
    fn an_option_in_a_bundle_takes_the_next_word_only_if_it_is_the_last() {
        let git = find("git");
        assert!(git.takes_value("-am"));
        assert!(!git.takes_value("-mtext"));
        assert!(git.takes_value("--git-dir"));
        assert!(!git.takes_value("--git-dir=x"));
        assert!(!find("rm").takes_value("-rf"));
    }
}
