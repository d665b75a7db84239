sudo -u x env A=b timeout 5 xargs -I{} sh -c 'rm {}' | ssh h 'docker exec c y'; find . -name x -exec rm {} \; ; git -c alias.x='!y' x
