# file: v.tfvars=n = "abc"
variable "n" { type = number }
