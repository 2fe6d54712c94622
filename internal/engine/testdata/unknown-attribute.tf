locals { a = { b = 1 } }
resource "terraform_data" "x" {
  input = local.a.c
}
