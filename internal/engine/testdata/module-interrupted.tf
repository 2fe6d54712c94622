# answer: GET interrupt
# answer: HEAD 200
module "m" { source = "SERVER/x.zip" }
