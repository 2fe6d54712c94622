# plan: -exclude=terraform_data
resource "terraform_data" "a" {}
