"""Runs that train policies in Gymnasium environments, in memory or in folders: killed, resumed, acted with again."""
