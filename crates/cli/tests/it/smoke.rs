//! The shortest way through: a hook that blocks.

use crate::environment;

#[test]
fn a_hook_blocks_and_says_why() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    assert_eq!(environment.shell("ls").code, 0);
    let ran = environment.shell("mkfs /dev/sda");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(ran.json()["decision"], "deny");
    assert_eq!(ran.json()["reason"], "not here");
}
