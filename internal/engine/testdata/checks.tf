check "health" {
  assert {
    condition     = terraform_data.x.input == "y"
    error_message = "no way"
  }
}
resource "terraform_data" "x" { input = "x" }
