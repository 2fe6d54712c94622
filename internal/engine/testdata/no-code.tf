# no code
