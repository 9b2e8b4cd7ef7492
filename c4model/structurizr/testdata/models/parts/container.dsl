screw = container "Screw" "Wood \n and iron."
