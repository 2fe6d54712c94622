variable "need" {}
