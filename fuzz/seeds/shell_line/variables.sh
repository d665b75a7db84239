x=rm; y=(a b "c d"); ${x:-ls} ${y[@]} ${x/r/R} ${x:0:1} ${!x} $((1 + $(z))) ((x++)); export A=$x; eval "$x $A"; source <(echo b)
