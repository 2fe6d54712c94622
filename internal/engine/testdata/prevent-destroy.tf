# before: resource "terraform_data" "x" {
# before:   lifecycle { prevent_destroy = true }
# before: }
# destroy
resource "terraform_data" "x" {
  lifecycle { prevent_destroy = true }
}
