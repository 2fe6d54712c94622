# file: v.tfvars=n = 5
variable "n" {
  validation {
    condition     = var.n > 10
    error_message = "must be more than ten"
  }
}
