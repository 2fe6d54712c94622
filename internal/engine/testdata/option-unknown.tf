# plan: -nonsense
resource "terraform_data" "a" {}
