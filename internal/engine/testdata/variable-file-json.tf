# file: v.tfvars.json={"n": }
variable "n" {}
