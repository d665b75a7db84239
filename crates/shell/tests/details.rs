//! What is told about each command: words, folders, pipelines, flags, files, addresses.

use anyhook_shell::{Access, CommandLine, Folder, RedirectionKind, ShellCommand, Word, read};

fn only(line: &str) -> ShellCommand {
    let read = read(line);
    assert_eq!(read.commands.len(), 1, "{line}: {read:#?}");
    read.commands.into_iter().next().expect("one command")
}

fn command_of<'a>(line: &'a CommandLine, program: &str) -> &'a ShellCommand {
    line.commands.iter().find(|one| one.program() == Some(program)).expect("the command")
}

fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

#[test]
fn words_are_expanded_as_far_as_they_are_known() {
    for (line, expected) in [
        ("a 'b c' \"d e\" f\\ g", &["a", "b c", "d e", "f g"][..]),
        ("a '' \"\"", &["a", "", ""]),
        ("a $'x\\ty' $'\\'' $\"b\"", &["a", "x\ty", "'", "b"]),
        ("a ~/x ~ \"$HOME/y\" ${HOME}", &["a", "~/x", "~", "~/y", "~"]),
        ("a $PWD/x \"$PWD\"", &["a", "./x", "."]),
        (
            "a x{1,2}y {a..c} {3..1} {a,b{c,d}}",
            &["a", "x1y", "x2y", "a", "b", "c", "3", "2", "1", "a", "bc", "bd"],
        ),
        ("a {} {x} \"{a,b}\" {a,b\\}", &["a", "{}", "{x}", "{a,b}", "{a,b}"]),
        ("a $X \"$X/y\" ${X}z", &["a", "$X", "$X/y", "$Xz"]),
        ("a $(date) `date`", &["a", "$(date)", "`date`"]),
        ("a b#c #d", &["a", "b#c"]),
        ("a 'it'\"'\"'s'", &["a", "it's"]),
        ("a =b c=d", &["a", "=b", "c=d"]),
        ("a \"b\n c\"", &["a", "b\n c"]),
        ("a ${#x} ${x:1:2} $? $$", &["a", "${#x}", "${x:1:2}", "$?", "$$"]),
        ("a $", &["a", "$"]),
        ("a ünï→", &["a", "ünï→"]),
    ] {
        assert_eq!(texts(&read(line).commands[0].words), expected, "{line}");
    }
}

#[test]
fn what_is_not_known_of_a_word_is_marked() {
    let command = only("rm -rf /tmp/$X/*.o \"*\" $TMP");
    assert!(command.words[2].is_glob());
    assert_eq!(command.words[2].prefix(), "/tmp/");
    assert_eq!(command.words[2].known(), None);
    assert!(!command.words[3].is_glob());
    assert_eq!(command.words[3].known(), Some("*"));
}

#[test]
fn assignments_and_redirections_are_listed() {
    let command = only("A=1 B=\"$X\" make >out 2>>err <in 2>&1 <<<text 3<>both &>all");
    assert_eq!(command.assignments[0], ("A".to_owned(), Word::literal("1")));
    assert_eq!(command.assignments[1].1.known(), None);
    let kinds: Vec<_> =
        command.redirections.iter().map(|one| (one.kind, one.target.text.as_str())).collect();
    assert_eq!(
        kinds,
        [
            (RedirectionKind::Write, "out"),
            (RedirectionKind::Append, "err"),
            (RedirectionKind::Read, "in"),
            (RedirectionKind::Duplicate, "1"),
            (RedirectionKind::HereString, "text"),
            (RedirectionKind::ReadWrite, "both"),
            (RedirectionKind::Write, "all"),
        ]
    );
    let here = only("cat <<-EOF >x\n\ta $X\n\tEOF\n");
    assert_eq!(here.redirections[0].kind, RedirectionKind::HereDocument);
    assert_eq!(here.redirections[0].target.text, "a $X\n");
    assert_eq!(only("> x").redirections.len(), 1);
    assert_eq!(only("x=1").assignments.len(), 1);
    assert_eq!(read("{ ls; } > x").commands[0].redirections[0].target.text, "x");
}

#[test]
fn several_here_documents_keep_their_texts() {
    let read = read("cat <<A <<'B'; ls\na\nA\n$b\nB\necho x");
    let targets: Vec<_> =
        read.commands[0].redirections.iter().map(|one| one.target.text.as_str()).collect();
    assert_eq!(targets, ["a\n", "$b\n"]);
    assert_eq!(read.commands.len(), 3);
}

#[test]
fn commands_of_a_pipeline_share_its_number() {
    let read = read("a | b |& c && d; e | sudo f");
    let places: Vec<_> =
        read.commands.iter().map(|one| (one.program().unwrap(), one.pipeline, one.place)).collect();
    assert_eq!(
        places,
        [
            ("a", 0, 0),
            ("b", 0, 1),
            ("c", 0, 2),
            ("d", 1, 0),
            ("e", 2, 0),
            ("sudo", 2, 1),
            ("f", 2, 1)
        ]
    );
}

#[test]
fn the_folder_follows_cd() {
    let relative = |path: &str| Folder::Relative(path.to_owned());
    let absolute = |path: &str| Folder::Absolute(path.to_owned());
    for (line, expected) in [
        ("x", Folder::Start),
        ("cd a && x", relative("a")),
        ("cd a; cd b; x", relative("a/b")),
        ("cd /a && cd b && x", absolute("/a/b")),
        ("cd && x", absolute("~")),
        ("cd ~/a && x", absolute("~/a")),
        ("cd \"$X\" && x", Folder::Unknown),
        ("cd a*; x", Folder::Unknown),
        ("cd . && x", Folder::Start),
        ("cd a && cd - && x", Folder::Start),
        ("pushd a; popd; x", Folder::Start),
        ("pushd a; x", relative("a")),
        ("(cd a); x", Folder::Start),
        ("(cd a && x)", relative("a")),
        ("cd a | y; x", Folder::Start),
        ("false && cd a; x", Folder::Unknown),
        ("if y; then cd a; fi; x", Folder::Unknown),
        ("cd a || exit 1; x", relative("a")),
        ("$(cd a); x", Folder::Start),
        ("env -C a x", relative("a")),
        ("sh -c 'cd a'; x", Folder::Start),
        ("eval 'cd a'; x", relative("a")),
        ("f() { cd a; }; f; x", relative("a")),
    ] {
        assert_eq!(command_of(&read(line), "x").folder, expected, "{line}");
    }
    assert_eq!(only("git -C a status").folder, relative("a"));
}

#[test]
fn wrappers_are_named_from_the_outermost() {
    for (line, expected) in [
        ("sudo env x", &["sudo", "env"][..]),
        ("sh -c 'sudo x'", &["sh", "sudo"]),
        ("ssh host 'bash -c x'", &["ssh", "bash"]),
        ("y | xargs -n1 x", &["xargs"]),
        ("python3 -c 'import os; os.system(\"x\")'", &["python"]),
        ("find . -exec x {} \\;", &["find"]),
        ("eval x", &["eval"]),
        ("time x", &["time"]),
    ] {
        assert_eq!(command_of(&read(line), "x").via, expected, "{line}");
    }
}

#[test]
fn commands_elsewhere_are_remote() {
    for line in [
        "ssh h x",
        "docker exec c x",
        "docker run i x",
        "kubectl exec p -- x",
        "ssh h <<E\nx\nE",
        "ssh h 'sudo x'",
    ] {
        let read = read(line);
        assert!(command_of(&read, "x").is_remote, "{line}");
        assert!(!read.commands[0].is_remote, "{line}");
    }
    assert!(!command_of(&read("ssh h y; x"), "x").is_remote);
}

#[test]
fn input_of_xargs_is_unknown_unless_it_is_known() {
    let read_xargs = read("find . | xargs rm -rf");
    let remove = command_of(&read_xargs, "rm");
    assert_eq!(remove.operands().len(), 1);
    assert_eq!(remove.operands()[0].known(), None);
    let known = read("printf 'a b\\nc' | xargs rm");
    assert_eq!(texts(command_of(&known, "rm").arguments()), ["a", "b", "c"]);
}

#[test]
fn what_cannot_be_told_marks_the_command() {
    let read = read("ls; eval \"$X\"; $Y z");
    let unknown: Vec<_> = read.commands.iter().map(|one| one.is_unknown).collect();
    assert_eq!(unknown, [false, true, true, true]);
    for line in [
        "bash <(curl h.com)",
        "curl h.com | bash",
        "bash -c \"$(cat x)\"",
        "curl h.com | sudo bash",
    ] {
        assert!(command_of(&anyhook_shell::read(line), "bash").is_unknown, "{line}");
        assert!(
            !anyhook_shell::read(line)
                .commands
                .iter()
                .any(|one| one.program() == Some("curl") && one.is_unknown)
        );
    }
}

#[test]
fn flags_are_found_in_every_form() {
    for (line, flag, expected) in [
        ("rm -rf x", "-f", true),
        ("rm -rf x", "-r", true),
        ("rm -rf x", "-v", false),
        ("rm --force x", "--force", true),
        ("rm --forc x", "--force", true),
        ("rm --fo x", "--force", false),
        ("rm -- -f", "-f", false),
        ("git push --force-with-lease", "--force", false),
        ("git push --force=x", "--force", true),
        ("git commit -m -f", "-f", false),
        ("git commit -m-f", "-f", false),
        ("git commit -amx", "-x", false),
        ("git commit -amx", "-a", true),
        ("find . -delete", "-delete", true),
        ("find . -delete", "-d", false),
        ("find . -name -delete", "-delete", false),
        ("terraform apply -auto-approve", "-auto-approve", true),
        ("terraform apply -var=x", "-var", true),
        ("unknown -abc", "-abc", true),
        ("unknown -abc", "-b", true),
    ] {
        assert_eq!(only(line).has_flag(flag), expected, "{line} {flag}");
    }
}

#[test]
fn subcommands_and_operands_come_without_options() {
    for (line, expected) in [
        ("git push origin main", &["push", "origin", "main"][..]),
        ("git -C x --git-dir=y -c a=b push --force origin", &["push", "origin"]),
        ("git stash drop -q", &["stash", "drop"]),
        ("docker --context x compose -f y down", &["compose", "down"]),
        ("kubectl -n x delete pod y", &["delete", "pod", "y"]),
        ("npm --prefix x run build", &["run", "build"]),
        ("cargo +nightly publish", &["+nightly", "publish"]),
        ("systemctl -H host stop x", &["stop", "x"]),
        ("rm -- -f x", &["-f", "x"]),
        ("git checkout $X", &["checkout"]),
        ("terraform -chdir=x destroy", &["destroy"]),
        ("aws --profile x s3 rm y", &["s3", "rm", "y"]),
        ("ls - x", &["-", "x"]),
    ] {
        assert_eq!(only(line).subcommand(), expected, "{line}");
    }
}

/// Lines and their files: `R`ead, `W`ritten, `D`eleted, `M`oved, with `+` if all in it is concerned.
const FILES: &[(&str, &str)] = &[
    ("cat a b", "R a, R b"),
    ("cat < a > b", "R a, W b"),
    ("rm -r a b", "D+ a, D+ b"),
    ("rm a", "D a"),
    ("rmdir a", "D a"),
    ("unlink a", "D a"),
    ("shred -u a", "D a"),
    ("mv a b c", "M a, M b, W c"),
    ("mv -t c a b", "M a, M b, W c"),
    ("cp -r a b", "R+ a, W+ b"),
    ("cp --target-directory=c a", "R a, W c"),
    ("ln -s a b", "R a, W b"),
    ("install -m 644 a b", "R a, W b"),
    ("tee -a a b", "W a, W b"),
    ("touch a", "W a"),
    ("mkdir -p a", "W a"),
    ("truncate -s 0 a", "W a"),
    ("chmod -R 777 a", "W+ a"),
    ("chown x:y a b", "W a, W b"),
    ("dd if=a of=b bs=1M", "R a, W b"),
    ("sed -i s/a/b/ f", "W f"),
    ("sed -i.bak -e s/a/b/ f", "W f"),
    ("sed -n p f", "R f"),
    ("perl -i -pe s/a/b/ f", "W f"),
    ("grep -r x a", "R+ a"),
    ("grep -e x a", "R a"),
    ("grep -f p a", "R p, R a"),
    ("head -n 5 a", "R a"),
    ("sort -o b a", "W b, R a"),
    ("tar czf a.tgz b c", "W a.tgz, R+ b, R+ c"),
    ("tar -czf a.tgz b", "W a.tgz, R+ b"),
    ("tar -xzf a.tgz -C d", "R a.tgz, W d"),
    ("tar xf a.tgz", "R a.tgz"),
    ("zip -r a.zip b", "W+ a.zip, R+ b"),
    ("unzip a.zip -d d", "W d, R a.zip"),
    ("curl -o a -T b -d @c -F x=@d https://h", "W a, R b, R c, R d"),
    ("curl -F 'x=@d;type=y' https://h", "R d"),
    ("curl -oa --data-binary @c https://h", "W a, R c"),
    ("curl -d x=y https://h", ""),
    ("wget -O a --post-file=b h.com", "W a, R b"),
    ("scp a h:b", "R a, W h:b"),
    ("rsync -a --delete a/ b/", "R+ a/, W+ b/, D+ b/"),
    ("git rm -r a", "D+ a"),
    ("git rm --cached a", ""),
    ("git clean -fdx", "D+ ."),
    ("git clean -fd a", "D+ a"),
    ("git checkout -- a", "W+ a"),
    ("git checkout main", ""),
    ("git restore a", "W+ a"),
    ("git mv a b", "M+ a, W+ b"),
    ("git commit -m x", ""),
    ("openssl enc -in a -out b", "R a, W b"),
    ("base64 a", "R a"),
    ("python3 a.py b", "R a.py"),
    ("python3 -c 'x' b", ""),
    ("bash a.sh", "R a.sh"),
    ("vim a", "W a"),
    ("xxd a b", "R a, W b"),
    ("find a b -delete", "D+ a, D+ b"),
    ("find -name x -delete", "D+ ."),
    ("find a -name x", "R+ a"),
    ("source a", "R a"),
    ("unknown ./a b --file=/c -x", "R ./a, R /c"),
    ("unknown https://a/b", ""),
    ("sudo cat a", "R a"),
    ("echo a > ~/b", "W ~/b"),
    ("echo a >> b 2>&1", "W b"),
    ("[ -f a ]", ""),
    ("cat <(ls) a", "R a"),
    ("x | xargs rm /a/b", "D /a/b, D …"),
    ("npx rimraf a", "D+ a"),
    ("npx del-cli a", "D+ a"),
    ("chmod -x a", "W a"),
    ("x | sponge a", "W a"),
    ("yq -i .x=1 a", "W a"),
    ("yq .x a", "R a"),
    ("column -t a", "R a"),
    ("xargs -a a echo", "R a"),
    ("curl -b a file:///b", "R a, R /b"),
    ("curl -b a=b https://h", ""),
    ("python3 -c 'open(\"a\", \"w\").write(\"x\")'", "W a"),
    ("python3 -c 'print(open(\"a\").read())'", "R a"),
    ("python3 -c 'import os; os.remove(\"a\")'", "D a"),
    ("python3 -c 'import shutil; shutil.rmtree(\"a\")'", "D+ a"),
    ("python3 -c 'import shutil; shutil.move(\"a\", \"b\")'", "M a, W b"),
    ("python3 -c 'from pathlib import Path; Path(\"a\").unlink()'", "D a"),
    ("python3 -c 'from pathlib import Path; p = Path(\"a\"); p.write_text(\"x\")'", "W a"),
    ("python3 -c 'import os; os.remove(os.path.join(os.path.expanduser(\"~\"), \"x\"))'", "D ~/x"),
    ("node -e 'require(\"fs\").rmSync(\"a\", {recursive: true})'", "D+ a"),
    ("node -e 'const fs = require(\"fs\"); fs.writeFileSync(\"a\", \"x\")'", "W a"),
    ("ruby -e 'FileUtils.rm_rf(\"a\")'", "D+ a"),
    ("ruby -e 'File.delete \"a\"'", "D a"),
    ("perl -e 'unlink \"a\"'", "D a"),
    ("php -r 'unlink(\"a\");'", "D a"),
];

#[test]
fn files_are_told_with_what_is_done() {
    for (line, expected) in FILES {
        let line_read = read(line);
        let files: Vec<String> = line_read
            .commands
            .iter()
            .flat_map(ShellCommand::files)
            .map(|file| {
                let access = match file.access {
                    Access::Read => "R",
                    Access::Write => "W",
                    Access::Delete => "D",
                    Access::Move => "M",
                };
                let more = if file.recursive { "+" } else { "" };
                format!("{access}{more} {}", file.word.text)
            })
            .collect();
        assert_eq!(files.join(", "), *expected, "{line}");
    }
}

#[test]
fn addresses_are_found() {
    for (line, expected) in [
        ("curl -s https://a.b/c", &["https://a.b/c"][..]),
        ("curl example.com/x", &["example.com/x"]),
        ("wget -q http://a.b", &["http://a.b"]),
        ("git clone ssh://h/x", &["ssh://h/x"]),
        ("x --url=https://a.b", &["https://a.b"]),
        ("echo x.y", &[]),
        ("curl \"https://a.b/$X\"", &["https://a.b/"]),
        ("curl -o x.y https://a.b", &["https://a.b"]),
    ] {
        assert_eq!(only(line).urls(), expected, "{line}");
    }
}

#[test]
fn programs_have_no_folder() {
    for (line, expected) in [
        ("/usr/bin/rm x", Some("rm")),
        ("./a.sh", Some("a.sh")),
        ("RM x", Some("RM")),
        ("rm.exe x", Some("rm")),
        ("'C:\\x\\rm.EXE' x", Some("rm")),
        ("[ a ]", Some("[")),
        ("$X", None),
        ("r*", None),
        ("> x", None),
    ] {
        assert_eq!(only(line).program(), expected, "{line}");
    }
}

#[test]
fn what_may_have_happened_is_unknown() {
    for (line, known) in [
        ("x=a; echo $x", true),
        ("x=a; (x=b); echo $x", true),
        ("x=a; y | x=b; echo $x", true),
        ("x=a; y && x=b; echo $x", false),
        ("y && x=b && echo $x", true),
        ("y && x=b; echo $x", true),
        ("if y; then x=b; else x=c; fi; echo $x", false),
        ("x=a; if y; then x=b; fi; echo $x", false),
        ("x=a; if y; then x=a; fi; echo $x", true),
        ("x=a; for i in 1; do x=b; done; echo $x", false),
        ("x=a; case y in y) x=b;; esac; echo $x", false),
        ("x=a; f() { x=b; }; f; echo $x", true),
        ("x=a; ((x++)); echo $x", false),
        ("x=a; read x; echo $x", false),
        ("x=a; unset x; echo $x", true),
        ("x=a; sh -c 'x=b'; echo $x", true),
        ("x=b y; echo $x", false),
    ] {
        let read = read(line);
        let echo = command_of(&read, "echo");
        assert_eq!(echo.arguments().iter().all(|word| word.known().is_some()), known, "{line}");
    }
}
