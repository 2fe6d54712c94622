resource "terraform_data" "x" {
  input = var.nope
}
