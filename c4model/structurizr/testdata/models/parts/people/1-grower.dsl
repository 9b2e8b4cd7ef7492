grower = person "Grower"
