if [ -f x ]; then rm -rf "$x"; elif a; then b; else c; fi; for f in a b; do rm $f; done; case $x in a|b) c;; *) d;; esac; while read l; do e; done < f; g() { h "$1"; }; g / && (cd i && j) | k
