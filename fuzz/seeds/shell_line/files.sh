curl -o a -F 'x=@b' -d @c https://h/i | tar xzf - -C d; dd if=e of=/dev/sda; sed -i s/a/b/ f; rsync -a --delete g/ h/; mv -t i j > k 2>&1
