"""Films of episodes: the world, beside it the hierarchy drawn with its present state lit, below it what happens."""

from rewardmachines.envs.filming.caption import Caption
from rewardmachines.envs.filming.film import Film, Shot
from rewardmachines.envs.filming.saving import check_film_path, save_film

__all__ = ["Caption", "Film", "Shot", "check_film_path", "save_film"]
