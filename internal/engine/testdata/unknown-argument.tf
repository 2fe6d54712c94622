resource "terraform_data" "x" {
  nope = 1
}
