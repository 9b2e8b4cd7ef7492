picker = person "Picker" {
    -> grower "Helps"
}
