package server

const ()
