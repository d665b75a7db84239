r\m "-rf" $'\x2f' 'a b' "$HOME/$(date)" `ls` {a,b}{1..3} ~/x *.o # c
