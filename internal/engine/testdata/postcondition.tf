# apply
resource "terraform_data" "x" {
  lifecycle {
    postcondition {
      condition     = self.id == "x"
      error_message = "no way"
    }
  }
}
