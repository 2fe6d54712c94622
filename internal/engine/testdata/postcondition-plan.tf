resource "terraform_data" "x" {
  input = "y"
  lifecycle {
    postcondition {
      condition     = self.input == "x"
      error_message = "no way"
    }
  }
}
