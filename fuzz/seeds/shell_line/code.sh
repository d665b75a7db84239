python3 -c 'import os, shutil; p = "/a"; os.system("rm -rf " + p); shutil.rmtree(p)'; node -e 'require("child_process").execSync(`ls`)'; perl -e 'system "a"; `b`'; awk 'BEGIN { system("c") }'
