variable "n" { default = 1 }
resource "terraform_data" "x" {
  lifecycle {
    precondition {
      condition     = var.n == 2
      error_message = "no way"
    }
  }
}
